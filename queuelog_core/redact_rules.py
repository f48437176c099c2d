"""What a secret looks like: one row a kind, each with an example that it must catch."""

from string import hexdigits

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
)
from queuelog_core.redact_tokens import TOKENS


def _is_card(text: str) -> bool:
    """Luhn's check, so that an order number is left alone."""
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


_DIGIT = r"(?=[^\s\"',;&]{0,64}[0-9])"


def _is_drawn(text: str) -> bool:
    """Whether no person wrote this: mixed case with digits, or hexadecimal."""
    kinds = (str.isupper, str.islower, str.isdigit)
    return all(any(map(kind, text[:24])) for kind in kinds) or not set(text[:20]) - set(hexdigits)


RULES: tuple[Rule, ...] = (
    Rule(
        "private-key",
        r"-{4,5} ?begin[a-z0-9 ]{0,40}private key(?: block)? ?-{4,5}(?:[^-]|-(?!---))*+"
        r"(?:-{4,5} ?end[a-z0-9 ]{0,60}-{4,5})?",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
        ("private key",),
    ),
    Rule(
        "private-key",
        r"(?P<keep>private-lines:\s?+)(?!\[redacted)[^-]++(?:-mac\s?:\s?[0-9a-f]{16,128})?",
        "Private-Lines: 1\nAAAAgQCvXyYxWk\nPrivate-MAC: 0123456789abcdef0123456789abcdef",
        ("private-lines",),
    ),
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
        rf"(?P<keep>authorization{SEPARATOR}{OPEN}[a-z0-9-]{{3,20}}\s)"
        r"(?=[a-z_]{1,20}=[^\s=])[^\r\n]+",
        'Authorization: Digest username="bob", response="8f14e45fceea167a"',
        ("authorization",),
    ),
    Rule(
        "authorization",
        rf"(?P<keep>authorization{SEPARATOR}{OPEN}(?![a-z0-9-]{{3,20}}\s{{1,3}}\[redacted)"
        rf"(?:[a-z-]{{3,20}}\s{{1,3}})?)"
        rf"{NO_SECRET}[^\s\"']{{4,}}",
        "Authorization: Token 8f14e45fceea167a",
        ("authorization",),
    ),
    Rule(
        "bearer",
        r"(?P<keep>(?<![a-z])(?:bearer|basic|token|apikey|negotiate|ssws"
        r"|auth (?:plain|login|xoauth2))\s{1,3}[\[(\"']{0,2}+)"
        r"(?!realm=|error)(?=[^\s\"']{0,64}[0-9=])[\w+/=.~%-]{8,}",
        "sent Bearer mF_9.B5f-4.1JqM",
        ("bearer", "basic", "token", "apikey", "negotiate", "ssws", "auth "),
    ),
    *TOKENS,
    Rule(
        "webhook",
        r"(?P<keep>//[\w.-]{0,64}hooks?\.[\w.-]{1,64}/|/webhook[\w]{0,4}/)(?=[^\s\"'<>]{0,64}[0-9])"
        r"[\w/@.-]{12,}",
        "https://hooks.slack.com/services/T0123456/B0123456789/0123456789abcdefghijABCD",
        ("hook",),
    ),
    Rule(
        "link",
        rf"(?P<keep>/(?:reset|verify|confirm|invite|activate|login|magic)[\w-]{{0,16}}/)"
        rf"(?=\S{{0,64}}[0-9]){RANDOM}{{20,}}",
        "https://example.com/reset/0123456789abcdefABCDEF",
        ("/reset", "/verify", "/confirm", "/invite", "/activate", "/login", "/magic"),
        accept=_is_drawn,
    ),
    Rule(
        "password-hash",
        r"\$(?:[1256y]|2[abxy]|apr1|argon2[a-z]{1,2}|scrypt)\$[\w./+=,$-]{16,}"
        r"|pbkdf2[\w-]{0,16}[$:][\w./+=,$:-]{16,}|\{s?(?:sha|md5)[0-9]{0,3}\}[\w+/=]{16,}",
        "$2b$12$0123456789abcdefghijABCDEFGHIJ",
        ("$", "}"),
    ),
    Rule(
        "option",
        rf"(?P<keep>(?<![\w-])--?[\w-]{{0,24}}?(?:{LABEL}|pass|token|auth|secret|pin)"
        rf"[\"',\s=\\]{{1,12}}){NO_SECRET}[^\s\"',]{{3,}}",
        "mysql --password hunter2 -h db",
        ("-",),
    ),
    Rule(
        "option",
        r"(?P<keep>(?<![\w-])(?:-u|--user|--proxy-user)[\s\"'=,]{1,4}[^\s:\"']{1,64}:(?!//))"
        r"(?![0-9]{1,6}(?![^\s\"']))[^\s\"']{3,}",
        "curl -u ada:hunter2 https://example.com",
        ("-u",),
    ),
    Rule(
        "option",
        r"(?P<keep>\b(?:mysql\w{0,8}|mariadb\w{0,8}|sshpass|mongo\w{0,8}|docker login|az login"
        r"|sqlcmd|redis-cli|restic|unzip)\b[^\r\n]{0,120}?[\s\"'](?:-p|-a)[\"',\s]{0,4}|-pass(?:in|out)?\s{1,3}pass:"
        r"|/user:[^\s]{1,64}\s{1,3})[^\s\"',]{3,}",
        "sshpass -p hunter2 ssh root@db",
        (" -p", " -a", "'-p", '"-p', "pass:", "/user:"),
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
        "phrase",
        rf"(?P<keep>(?:passphrase|recovery code|seed phrase){SEPARATOR})"
        rf"{NO_SECRET}[^\r\n\"',;()]{{3,}}",
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
        r"(?P<keep>identified(?: with \S{1,40})? by [\"']|password for [^\r\n=]{1,80}=\s?[\"']"
        r"|securestring\s{1,3}[\"'])"
        rf"{NO_SECRET}[^\r\n\"']{{3,}}",
        "CREATE USER app IDENTIFIED BY 'hunter2'",
        ("identified", "password for", "securestring"),
    ),
    Rule(
        "said",
        r"(?P<keep>secret[\"']?\s{1,8}[\"']?)[a-z2-7]{16,}",
        "TOTP secret ABCDEFGHIJKLMNOP",
        ("secret",),
        accept=str.isupper,
    ),
    Rule(
        "call",
        r"(?P<keep>(?:pdo->__construct|mysqli?_connect|mysqli->\w{1,16}|ldap_bind|pscredential|ftp_login"
        r"|imap_open)\(|\.auth\((?=[\"']))[^\r\n()]{3,400}",
        "PDO->__construct('mysql:host=db', 'root', 'hunter2')",
        ("pdo", "mysql", "ldap_bind", "pscred", "ftp_l", "imap_", ".auth("),
    ),
    Rule(
        "weak-assignment",
        rf"(?P<keep>(?:token|{START}(?:auth|sid|sig|sign|signature|nonce|salt|seed|appid)"
        rf"|[_-](?:auth|sig|sign|signature|pat))(?:-[0-9]{{1,3}})?{SEPARATOR}{OPEN})"
        rf"{NO_SECRET}{_DIGIT}{VALUE}{{8,}}",
        "token=8f14e45fceea167a",
        ("token", "auth", "sid", "sig", "nonce", "salt", "seed", "appid", "pat"),
    ),
    Rule(
        "weak-assignment",
        rf"(?P<keep>(?:(?<!public[ _-])key|code|license|secret|token|assertion|hash)"
        rf"[ a-z0-9]{{0,40}}+{SEPARATOR}"
        rf"{OPEN}){_DIGIT}{RANDOM}{{16,}}",
        "Invalid client secret provided: 0123456789abcdefABCDEF",
        ("key", "code", "license", "secret", "token", "assertion", "hash"),
        accept=_is_drawn,
    ),
    Rule(
        "pin",
        rf"(?P<keep>{START}(?:pin|otp|cvv2?|cvc|(?:mfa|verification|security|auth) code"
        rf"|one-time (?:code|password))(?:{SEPARATOR}|\s)[\"']?)[0-9]{{3,8}}(?![\w.-])",
        "PIN: 4711",
        ("pin", "otp", "cv", "code", "one-time"),
    ),
    Rule(
        "transcript",
        rf"(?P<keep>{START}auth[\"']?\s{{1,3}}[\"']?(?:[\w.-]{{1,32}}[\"']?\s{{1,3}}[\"']?)?)"
        r"(?=[^\s\"']{0,64}[0-9])[a-z0-9+/=]{16,}",
        "AUTH default 8f14e45fceea167a8f14",
        ("auth",),
    ),
    Rule(
        "transcript",
        r"(?P<keep>\buser \S{1,64}\s{1,4}[^\r\n]{0,80}\s{1,4}pass |\blogin \S{1,64} \")[^\s\"]{3,}",
        "USER ada\r\n331 go on\r\nPASS hunter2",
        ("pass ", "login "),
    ),
    Rule(
        "card",
        r"(?<![\w.-])(?:4[0-9]{12}(?:[0-9]{3})?|(?:4[0-9]{3}|5[1-5][0-9]{2}|2[2-7][0-9]{2}"
        r"|6(?:011|5[0-9]{2})|35[0-9]{2})[ -]?[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}"
        r"|3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5}"
        r"|3(?:0[0-5]|[68][0-9])[0-9]{11})(?![\w-])",
        "4242 4242 4242 4242",
        accept=_is_card,
    ),
    Rule(
        "dsn-userinfo",
        r"(?<![\w/.@-])(?!mailto:)[\w.-]{1,64}:[^\s:@/\"'<>\[\]]{3,128}@(?=[\w(\[])"
        r"|(?<=thin:)[^\s/@]{1,64}/[^\s/@]{1,128}@",
        "root:hunter2@tcp(db:3306)/prod",
        ("@",),
    ),
    Rule(
        "pgpass",
        r"(?P<keep>[\w.*-]{1,64}:(?:[0-9]{2,5}|\*):[\w*-]{1,64}:[\w.-]{1,64}:)(?!\[redacted)[^\s:]{3,}",
        ".pgpass: db:5432:shop:app:hunter2",
        ("pgpass",),
    ),
    Rule(
        "url-userinfo",
        r"(?<=://)(?![a-z_-]{1,16}@)[^\s/\"'<>@:]{1,256}@"
        r"|(?<=://)[^\s/\"'<>@:\[]{0,256}:(?![0-9]{1,5}(?![\w!$%*+.=~@-]))"
        r"(?:[^\s\"'<>]{1,256}@(?=[\w(\[])|[^\s\"'<>@]{200,})",
        "postgres://app:hunter2@db.internal:5432/prod",
        ("://",),
    ),
)
