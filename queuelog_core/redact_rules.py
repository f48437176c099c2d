"""What a secret looks like: one row a kind, each with an example that it must catch.

A worker chooses the text, so every pattern is linear: it starts at a literal or at the beginning of
a word, and repeats single characters, bounded, never a repetition inside another.
"""

from queuelog_core.redact_rule import START, Rule
from queuelog_core.redact_tokens import TOKENS


def _is_card(text: str) -> bool:
    """Luhn's check, so that an order number is left alone."""
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


_ASSIGN = r"[\"'\\]{0,4}\s{0,3}(?:=>|:=|=|:|%3d|%3a)\s{0,3}"
_OPEN = r"[\"'\\]{0,4}"
# A quote that opens a value, with the prefix of a Python text; the same quote ends it.
_QUOTE = r"[bru]{0,2}(?P<quote>\\{0,3}[\"'])(?!\[redacted)"
_QUOTED = r"(?:(?!(?P=quote))(?:\\[^\r\n]|[^\r\n\\]))+"
_WORD = r"(?!\[redacted)[^\s\"'`,;&<>()\[\]{}\\]"
_STRONG = (
    r"(?:pass(?:word|wd|phrase|code)|passwort|contrase(?:n|ñ)a|pwd|密码"
    r"|mot[ _-]de[ _-]passe|secret(?:[_-]?(?:access)?[_-]?key)?|api[_. -]?key|credentials?"
    r"|(?:access|account|private|signing|encryption|master|shared|storage|auth|license)[_-]?key"
    r"|(?:access|refresh|id|auth|bearer|session|csrf|xsrf|api|oauth|private|secret|client|sas|bot)"
    r"[_-]?token|session[_-]?id|jsessionid|phpsessid|webhook[_-]?url)"
)
_WEAK = r"(?:token|auth|sid|sig(?:nature)?|nonce|otp|pin|salt|key)"


RULES: tuple[Rule, ...] = (
    Rule(
        "private-key",
        r"-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----))*+"
        r"(?:-----END[A-Z0-9 ]{0,60}-----)?",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
        ("private key",),
    ),
    Rule(
        "cookie",
        r"(?P<keep>\b(?:set-)?cookie[\"']?\s{0,3}[:=]\s{0,3})[^\r\n]+",
        "Cookie: sid=31d4d96e407aad42; theme=dark",
        ("cookie",),
    ),
    Rule(
        "authorization",
        r"(?P<keep>authorization" + _ASSIGN + _OPEN + r"(?:[A-Za-z-]{3,20}\s{1,3})?)(?!\[redacted)"
        r"[^\s\"']{4,}",
        "Authorization: Digest 8f14e45fceea167a",
        ("authorization",),
    ),
    Rule(
        "bearer",
        r"(?P<keep>\b(?:bearer|basic|token|apikey|negotiate)\s{1,3})"
        r"(?=[^\s\"']{0,64}[0-9=])[A-Za-z0-9+/=._~-]{8,}",
        "sent Bearer mF_9.B5f-4.1JqM",
        ("bearer", "basic", "token", "apikey", "negotiate"),
    ),
    *TOKENS,
    Rule(
        "option",
        r"(?P<keep>(?<![\w-])--?" + _STRONG + r"[ =]{1,3}[\"']?)(?!\[redacted)[^\s\"']{3,}",
        "mysql --password hunter2 -h db",
        ("-",),
    ),
    Rule(
        "assignment",
        r"(?P<keep>(?:"
        + _STRONG
        + r"|(?:"
        + START
        + r"|_)pass)(?:[_-]?[0-9]{1,2})?"
        + _ASSIGN
        + _QUOTE
        + r")"
        + _QUOTED,
        'password: "correct horse"',
    ),
    Rule(
        "assignment",
        r"(?P<keep>" + _STRONG + r"(?:[_-]?[0-9]{1,2})?" + _ASSIGN + _OPEN + r")" + _WORD + r"{3,}",
        "password=hunter2",
    ),
    Rule(
        "short-assignment",
        r"(?P<keep>(?:"
        + START
        + r"|_)pass(?:[_-]?[0-9]{1,2})?"
        + _OPEN
        + r"="
        + _OPEN
        + r")"
        + _WORD
        + r"{3,}",
        "DB_PASS=hunter2",
        ("pass",),
    ),
    Rule(
        "weak-assignment",
        r"(?P<keep>" + START + _WEAK + _ASSIGN + _OPEN + r")"
        r"(?=[^\s\"',;&]{0,64}[0-9])" + _WORD + r"{8,}",
        "token=8f14e45fceea167a",
    ),
    Rule(
        "card",
        r"(?<![\w.-])[3-6](?:[ -]?[0-9]){12,18}(?![\w-])",
        "4242 4242 4242 4242",
        accept=_is_card,
    ),
    Rule(
        "dsn-userinfo",
        r"(?<![\w/.@-])(?!mailto:)[\w.-]{1,64}:[^\s:@/\"'<>\[\]]{3,128}@(?=[\w(\[])",
        "root:hunter2@tcp(db:3306)/prod",
        ("@",),
    ),
    Rule(
        "url-userinfo",
        r"(?<=://)[^\s/\"'<>@]{1,256}@(?:[^\s/\"'<>@]{1,256}@)?"
        r"|(?<=%3a%2f%2f)[^\s/\"'<>@]{1,256}?%40",
        "postgres://app:hunter2@db.internal:5432/prod",
        ("://", "%3a%2f%2f"),
    ),
)
