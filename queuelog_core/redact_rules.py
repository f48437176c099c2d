"""What a secret looks like: one row a kind, each with an example that it must catch."""

import re

from queuelog_core.redact_rule import (
    ELEMENT,
    LABEL,
    LABEL_NEEDLES,
    NO_SECRET,
    OPEN,
    QUOTED,
    RANDOM,
    SEPARATOR,
    START,
    TOLD,
    UNQUOTED,
    VALUE,
    Rule,
    is_drawn,
)
from queuelog_core.redact_tokens import ADDRESSES, PRIVATE_KEYS, TOKENS

_COLUMN = r"(?:passw|pwd|secret|_token)"
_BOUND = r"(?:parameters|bindings|params)[\"']?\s?[:=]\s?[\[(]"
_DIGIT = r"(?=[^\s\"',;&]{0,64}[0-9])"


RULES: tuple[Rule, ...] = (
    *PRIVATE_KEYS,
    Rule(
        "cookie",
        r"(?P<keep>\b(?:set-)?cookie[\"'\\]{0,4}\s{0,3}[:=]\s{0,3}[\"'\\]{0,4})"
        r"(?=[^\s=\"';,]{1,64}\s{0,2}=)[^\r\n]+",
        "Cookie: sid=31d4d96e407aad42; theme=dark",
        ("cookie",),
    ),
    Rule(
        "authorization",
        # A scheme and its parameters, up to the end of the line.
        rf"(?P<keep>(?<!redacted:)authorization{SEPARATOR}{OPEN}[a-z0-9-]{{3,20}}\s)"
        r"(?=[a-z_]{1,20}=[^\s=])[^\r\n]+",
        'Authorization: Digest username="bob", response="8f14e45fceea167a"',
        ("authorization",),
    ),
    Rule(
        "authorization",
        rf"(?P<keep>(?<!redacted:)authorization{SEPARATOR}{OPEN}(?![a-z0-9-]{{3,20}}\s{{1,3}}\[redacted)"
        rf"(?:[a-z-]{{3,20}}\s{{1,3}})?)"
        rf"{NO_SECRET}[^\s\"']{{4,}}",
        "Authorization: Token 8f14e45fceea167a",
        ("authorization",),
    ),
    Rule(
        "bearer",
        r"(?P<keep>(?<![a-z])(?:bearer|basic|token|apikey|negotiate|ssws"
        r"|auth (?:plain|login|xoauth2))\s{1,3}[\[(\"']{0,2}+)"
        r"(?!realm=|error)(?=[^\s\"']{0,64}[0-9=])(?:[\w+/=.~%-]|:(?=\w)){8,}",
        "sent Bearer mF_9.B5f-4.1JqM",
        ("bearer", "basic", "token", "apikey", "negotiate", "ssws", "auth "),
    ),
    *TOKENS,
    Rule(
        "option",
        rf"(?P<keep>(?<![\w-])--?[\w-]{{0,24}}?(?:{LABEL}|pass|token|auth|secret|pin)"
        rf"[\"',\s=\\]{{0,12}}?(?:(?<=[,\s=])(?P<open>\\{{0,3}}[\"'])|(?<=[\"',\s=\\])))"
        rf"{NO_SECRET}(?(open)[^\"'\r\n]|[^\s\"',]){{3,}}",
        "mysql --password hunter2 -h db",
        ("-",),
    ),
    Rule(
        "option",
        r"(?P<keep>(?<![\w-])(?:-u|--user|--proxy-user)[\s\"'=,]{1,4}(?!\+)[^\s:%\"']{1,64}[:%](?!//))"
        r"(?![0-9]{1,6}(?![^\s\"']))[^\s\"']{3,}",
        "curl -u ada:hunter2 https://example.com",
        ("-u",),
    ),
    Rule(
        "option",
        r"(?P<keep>\b(?:(?:mysql\w{0,8}|mariadb\w{0,8}|sshpass|mongo\w{0,8}|docker login|az login"
        r"|sqlcmd|redis-cli|restic|(?:un)?zip|7z)\b[^\r\n]{0,120}?[\s\"'](?:-p|-a)"
        r"|(?:ldap\w{3,8}|openssl)\b[^\r\n]{0,120}?[\s\"']-[kw](?=[\"'\s])"
        r"|snmp\w{2,8}\b[^\r\n]{0,120}?[\s\"']-c(?=[\"'\s])(?![\"'\s]{1,4}/))[\"',\s]{0,4}"
        r"|-pass(?:in|out)?\s{1,3}pass:|/user:\S{1,64}(?<!:)\s{1,3}"
        r"|\bnet use (?:\S{1,2} )?\\\S{1,128} (?!/))[^\s\"',]{3,}",
        "sshpass -p hunter2 ssh root@db",
        (
            *(f"{mark}-{letter}" for mark in " '\"" for letter in "pakwc"),
            "pass:",
            "/user:",
            "net use",
        ),
    ),
    Rule(
        "option",
        r"(?P<keep>\becho (?:-n )?[\"']?)(?!\$)[^\s|\"']{3,128}"
        r"(?=[\"']?\s{0,3}\|\s{0,3}(?:sudo|kinit|su |[^|\r\n]{1,80}-stdin))",
        "echo hunter2 | sudo -S reboot",
        ("echo ",),
    ),
    Rule(
        "assignment",
        rf"{LABEL}(?:{QUOTED}|{UNQUOTED}|{ELEMENT}|{TOLD})",
        "password=hunter2",
        LABEL_NEEDLES,
    ),
    Rule(
        "assignment",
        r"(?P<keep>\[redacted:[a-z-]{1,32}\]\s{0,3}(?:=|:(?=\s{0,3}\S{0,64}[0-9]))\s{0,3}[\"']?)"
        rf"(?!\[redacted){VALUE}{{8,}}",
        "password=[redacted:assignment] = hunter2hunter2",
        LABEL_NEEDLES,
    ),
    Rule(
        "assignment",
        r"(?P<keep1>[:=>]\s{0,3}\[\s{0,3}[\"']\[redacted:assignment\][\"'],\s{0,3}+)(?!\[redacted)"
        r"[^\]\r\n]{3,}|(?P<keep2>codes\s?[:=]\s?\[redacted:assignment\])"
        r"(?:[,\s]{1,3}(?=[a-z-]{0,16}[0-9])[\w-]{4,24}){1,20}",
        "'passwords': ['[redacted:assignment]', 'hunter2']",
        ("[redacted:assignment]",),
    ),
    Rule(
        "phrase",
        rf"(?P<keep>(?:passphrase|recovery code|seed phrase)(?:{SEPARATOR}(?=\S)"
        rf"|\s(?:is|was)\s[\"']?(?=[a-z]{{4,16}}-[a-z]{{4,16}}-)))"
        rf"(?:\[redacted:assignment\]\s|{NO_SECRET})[^\r\n\"',;()]{{3,}}",
        "passphrase: correct horse",
        ("phrase", "recovery"),
    ),
    Rule(
        "element",
        rf"(?P<keep>name=\"?{LABEL}\"?\s{{1,8}})[^\s\"']{{3,}}",
        'name="password"\r\n\r\nhunter2\r\n',
        ("name=",),
    ),
    Rule(
        "statement",
        r"(?P<keep>identified(?: with \S{1,40})? by [\"']|\buser \S{1,64} identified by "
        r"|password for [^\r\n=]{1,80}=\s?[\"']|securestring\s{1,3}[\"'])"
        rf"{NO_SECRET}[^\r\n\"']{{3,}}",
        "CREATE USER app IDENTIFIED BY 'hunter2'",
        ("identified", "password for", "securestring"),
    ),
    Rule(
        "said",
        r"(?P<keep>(?:secret[\w-]{0,16}|token|токен|jeton|トークン|令牌|session id"
        r"|auth\w{0,10} code|(?<!public )key(?=[\"']?\s[\"'(]?(?:[\w+/-]{43}=|0x[0-9a-f]{32})))"
        r"[\"']?\s{1,8}[\"'(]?(?:0x)?)[\w+/=-]{16,}",
        "TOTP secret ABCDEFGHIJKLMNOP",
        ("secret", "token", "токен", "jeton", "トークン", "令牌", "session id", "code", "key"),
        accept=lambda text: text.isupper() or is_drawn(text),
    ),
    Rule(
        "said",
        r"(?P<keep>(?:passwor[dt]|passe|contraseña|senha|pwd?)\s[\"'«]?)[a-z]{8,}(?![\w.])",
        "tried pw XpWuDbSYj twice",
        ("passwor", "passe", "contras", "senha", "pw"),
        accept=lambda text: 5 * len(re.findall("[a-z][A-Z]", text)) >= len(text),
    ),
    Rule(
        "said",
        r"(?P<keep>\bcred(?:ential)?s?\s?[:=]\s?[\w.@-]{1,64}(?:\s/\s|:))"
        r"(?=\S{0,40}[a-z])(?=\S{0,40}[0-9!#$*+=?^~])[^\s\"',;/]{6,}",
        "creds: ada / hunter2",
        ("cred",),
    ),
    Rule(
        "bound",
        rf"(?P<keep1>{_COLUMN}[^;]{{0,200}}?\b(?:{_BOUND}|values\s?\()(?=[^\])\r\n]{{0,200}}[\"']))"
        rf"[^\])\r\n]{{3,}}|(?P<keep2>\b{_BOUND})(?!\[redacted:bound)"
        rf"(?=[^\r\n]{{0,200}}{_COLUMN})[^\])\r\n]{{3,}}",
        "INSERT INTO users (password) VALUES (%s)] [parameters: ('hunter2',)]",
        ("parameters", "bindings", "params", "values"),
    ),
    Rule(
        "call",
        r"(?P<keep>(?:pdo->__construct|new \\{0,4}pdo|getconnection|mysqli?_connect"
        r"|mysqli->\w{1,16}|ldap_bind|pscredential|ftp_login|imap_open)\(|(?:\.auth|password)\((?=[\"'])"
        r"|(?:auth|login|authenticate)[\"']?\s?(?:=>|[=:])?\s?[\[(]"
        r"(?=[\"'][^\"'\r\n]{0,64}[\"'],\s?[\"']))[^\r\n()]{3,400}",
        "PDO->__construct('mysql:host=db', 'root', 'hunter2')",
        (
            *("pdo", "getconn", "mysql", "ldap_bind", "pscred", "ftp_l"),
            *("imap_", "auth", "password(", "login"),
        ),
    ),
    Rule(
        "weak-assignment",
        rf"(?P<keep>(?:token|jeton(?: d.[ \w]{{1,16}})?|токен(?: \w{{1,16}})?|令牌|トークン"
        rf"|{START}(?:auth|sid|sig|sign|signature|nonce|salt|seed|appid)"
        rf"|[_-](?:auth|sig|sign|signature|pat|session))(?:-[0-9]{{1,3}})?{SEPARATOR}{OPEN})"
        rf"{NO_SECRET}{_DIGIT}{VALUE}{{8,}}",
        "token=8f14e45fceea167a",
        (
            *("token", "jeton", "токен", "令牌", "トークン", "auth", "sid"),
            *("sig", "nonce", "salt", "seed", "appid", "pat", "session"),
        ),
    ),
    Rule(
        "weak-assignment",
        r"(?P<keep>(?:(?<!public[ _-])key(?! fingerprint)|code|license|secret|token|assertion|hash"
        rf"|signature|[?&;]state(?==))[ a-z0-9]{{0,40}}+{SEPARATOR}{OPEN}){_DIGIT}{RANDOM}{{16,}}",
        "Invalid client secret provided: 0123456789abcdefABCDEF",
        ("key", "code", "license", "secret", "token", "assertion", "hash", "signature", "state"),
        accept=is_drawn,
    ),
    Rule(
        "pin",
        rf"(?P<keep>{START}(?:pin|otp|cvv2?|cvc|(?:mfa|verification|security|auth) code"
        rf"|one-time (?:code|password))(?:{SEPARATOR}|\s(?:is\s)?)[\"']?)[0-9]{{3,8}}(?![\w.-])",
        "PIN: 4711",
        ("pin", "otp", "cv", "code", "one-time"),
    ),
    Rule(
        "transcript",
        rf"(?P<keep>{START}auth[\"',\s]{{1,5}}(?:args[\"']?:\s{{0,3}}\[\s{{0,3}}[\"'])?"
        r"(?:[\w.-]{1,32}[\"',\s]{1,5})?)"
        r"(?=[^\s\"']{0,64}[0-9])[a-z0-9+/=]{16,}",
        "AUTH default 8f14e45fceea167a8f14",
        ("auth",),
    ),
    Rule(
        "transcript",
        r"(?P<keep>\buser \S{1,64}\s{1,4}(?:[^\r\n]{0,80}\s{1,4})?pass "
        r"|wifi:(?:[^\r\n]{0,128}?;)?p:|334 ugfzc3dvcmq6\s{1,4}(?:[>c]:?\s)?|\blogin \S{1,64} \""
        r"|[0-9] login \S{1,64} |(?:[\"']|> )pass (?=[^\s\"'/]{0,40}[0-9])"
        r"(?=[^\s\"'/]{0,40}[a-z!#$*+=?^~]))[^\s\"']{3,}",
        "USER ada\r\n331 go on\r\nPASS hunter2",
        ("pass ", "login ", "wifi:", "334 "),
    ),
    *ADDRESSES,
)
