"""What a secret looks like: one row a kind, each with an example that it must catch.

A worker chooses the text, so every pattern is linear: it starts at a literal or at the beginning of
a word, and repeats single characters, bounded, never a repetition inside another.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

_Replacement = str | Callable[[re.Match[str]], str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of secret. A group `keep` in the pattern stays; the rest of the match is replaced.

    `needles`: lower-case literals of which one is always present; they spare the pattern a run."""

    name: str
    expression: str
    example: str
    needles: tuple[str, ...] = ()
    accept: Callable[[str], bool] | None = None
    pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", re.compile(self.expression, re.IGNORECASE))

    def replacement(self, match: re.Match[str]) -> str:
        """What takes the place of a match."""
        if self.accept is not None and not self.accept(match.group()):
            return match.group()
        keep = match.group("keep") if "keep" in self.pattern.groupindex else ""
        return f"{keep}[redacted:{self.name}]"


def _is_card(text: str) -> bool:
    """Luhn's check, so that an order number is left alone."""
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


# At the start of a word, also behind an escape such as \\n or %20 that ends in a letter or digit.
_START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"
_ASSIGN = r"[\"'\\]{0,4}\s{0,3}(?:=>|:=|=|:|%3d|%3a)\s{0,3}"
_OPEN = r"[\"'\\]{0,4}"
# Up to the quote that closes it, which may lie behind blanks; else a word.
_QUOTE = r"(?P<quote>\\{0,3}[\"'])?"
_WORD = r"(?!\[redacted)[^\s\"'`,;&<>()\[\]{}\\]"
_STRONG = (
    r"(?:pass(?:word|wd|phrase|code)|(?<![a-z])pass(?![a-z])|passwort|contrase(?:n|ñ)a|pwd|密码"
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
    Rule(
        "url-userinfo",
        r"(?<=://)[^\s/\"'<>@]{1,256}@(?:[^\s/\"'<>@]{1,256}@)?"
        r"|(?<=%3a%2f%2f)[^\s/\"'<>@]{1,256}?%40",
        "postgres://app:hunter2@db.internal:5432/prod",
        ("://", "%3a%2f%2f"),
    ),
    Rule(
        "dsn-userinfo",
        r"(?<![\w/.@-])(?!mailto:)[\w.-]{1,64}:[^\s:@/\"'<>\[\]]{3,128}@(?=[\w(\[])",
        "root:hunter2@tcp(db:3306)/prod",
        ("@",),
    ),
    Rule(
        "jwt",
        # A dash starts no word here: every one in a long token would be another start.
        r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVPmB92K27u",
        ("eyj",),
    ),
    Rule(
        "queuelog-key",
        _START + r"ql_(?:producer|worker|admin)_[A-Za-z0-9]{8,64}(?:_[A-Za-z0-9]{1,6})?",
        "ql_worker_0123456789abcdefghijABCDEFGHIJ0123456789abc_0a1B2c",
        ("ql_",),
    ),
    Rule(
        "aws-access-key",
        _START + r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z2-7]{16}(?![A-Za-z0-9])",
        "AKIAIOSFODNN7EXAMPLE",
        ("akia", "asia", "abia", "acca", "aroa", "aida"),
    ),
    Rule(
        "github",
        _START + r"(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_\w{20,255})",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        ("gh", "github_pat_"),
    ),
    Rule(
        "gitlab",
        _START + r"gl(?:pat|ptt|rt|dt|ft|cbt|soat|agent|imt|oas|ffct)-[A-Za-z0-9_=.-]{16,300}",
        "glpat-0123456789abcdefghij",
        ("gl",),
    ),
    Rule(
        "slack",
        _START + r"(?:xox[abeoprsd](?:\.xox[a-z])?-|xapp-)[A-Za-z0-9-]{10,300}"
        r"|(?<=hooks\.slack\.com/)(?:services|workflows)/[A-Za-z0-9/_-]{16,200}",
        "xoxb-123456789012-abcdefABCDEF",
        ("xox", "xapp-", "hooks.slack.com/"),
    ),
    Rule(
        "stripe",
        _START + r"(?:[rsp]k_(?:live|test)_[A-Za-z0-9]{10,250}|whsec_[A-Za-z0-9+/=]{16,200})",
        "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
        ("_live_", "_test_", "whsec_"),
    ),
    Rule(
        "google",
        _START + r"(?:AIza[\w-]{35}|ya29\.[\w-]{20,2048}|GOCSPX-[\w-]{20,40}|1//0[\w-]{40,200})",
        "AIzaSyA0123456789abcdefghijABCDEFGHIJ01",
        ("aiza", "ya29.", "gocspx-", "1//0"),
    ),
    Rule(
        "ai-provider",
        _START + r"(?:sk-(?:proj-|ant-|svcacct-|or-)?[\w-]{20,250}|hf_[A-Za-z0-9]{30,64}"
        r"|gsk_[A-Za-z0-9]{40,64}|r8_[A-Za-z0-9]{30,64}|xai-[A-Za-z0-9]{40,128})",
        "sk-proj-0123456789abcdefghijABCD",
        ("sk-", "hf_", "gsk_", "r8_", "xai-"),
    ),
    Rule(
        "mail-provider",
        _START + r"(?:SG\.[\w-]{16,40}\.[\w-]{16,80}|xkeysib-[a-f0-9]{40,80}-\w{8,40}"
        r"|key-[0-9a-f]{32}|[0-9a-f]{32}-us[0-9]{1,2})(?![A-Za-z0-9])",
        "SG.0123456789abcdefghijAB.0123456789abcdefghijABCDEFGHIJ0123456789abc",
        ("sg.", "xkeysib-", "key-", "-us"),
    ),
    Rule(
        "twilio",
        _START + r"SK[0-9a-f]{32}(?![A-Za-z0-9])",
        "SK0123456789abcdef0123456789abcdef",
        ("sk",),
    ),
    Rule(
        "package-registry",
        _START + r"(?:npm_[A-Za-z0-9]{30,64}|pypi-[\w-]{16,500}|dckr_(?:pat|oat)_[\w-]{16,64}"
        r"|rubygems_[a-f0-9]{40,64}|oy2[a-z0-9]{43})",
        "npm_0123456789abcdefghijABCDEFGHIJ012345",
        ("npm_", "pypi-", "dckr_", "rubygems_", "oy2"),
    ),
    Rule(
        "commerce",
        _START + r"(?:shp(?:at|ca|pa|ss)_[a-f0-9]{32}|sq0[a-z]{3}-[\w-]{22,64}|EAAA[\w-]{56,80}"
        r"|access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32})",
        "shpat_0123456789abcdef0123456789abcdef",
        ("shp", "sq0", "eaaa", "access_token$"),
    ),
    Rule(
        "cloud",
        _START + r"(?:do[opr]_v1_[a-f0-9]{40,80}|HRKU-[\w-]{30,80}|dapi[a-f0-9]{32}"
        r"|hv[sbr]\.[\w-]{20,300}|fo1_[\w-]{40,80}|AGE-SECRET-KEY-1[0-9A-Z]{50,70}"
        r"|tfp?_[A-Za-z0-9]{40,80}|[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,100})",
        "dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        ("_v1_", "hrku-", "dapi", "hvs.", "hvb.", "hvr.", "fo1_", "age-secret", "tf", "atlasv1"),
    ),
    Rule(
        "saas",
        _START + r"(?:lin_(?:api|oauth)_[A-Za-z0-9]{32,80}|NRAK-[A-Z0-9]{20,40}|figd_[\w-]{30,80}"
        r"|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|pat[A-Za-z0-9]{14}\.[a-f0-9]{64}|sntry[su]_[\w+/=]{30,250}"
        r"|glc_[\w+/=]{32,400}|glsa_\w{32,64}|ATATT3[\w=-]{20,250}|ntn_[A-Za-z0-9]{30,64}"
        r"|secret_[A-Za-z0-9]{43}|dop?p\.(?:pt|st)\.[\w.-]{20,80})",
        "lin_api_0123456789abcdefghijABCDEFGHIJ0123456789",
        (
            "lin_",
            "nrak-",
            "figd_",
            "pmak-",
            "pat",
            "sntry",
            "gl",
            "atatt3",
            "ntn_",
            "secret_",
            "dp.",
        ),
    ),
    Rule(
        "chat-bot",
        _START + r"(?:[0-9]{8,10}:AA[\w-]{30,40}|[MNO][A-Za-z0-9]{22,27}\.[\w-]{6}\.[\w-]{27,40})",
        "123456789:AAF0123456789abcdefghijABCDEFGHIJ01",
        (":aa", "."),
    ),
    Rule(
        "option",
        r"(?P<keep>(?<![\w-])--?" + _STRONG + r"[ =]{1,3}[\"']?)(?!\[redacted)[^\s\"']{3,}",
        "mysql --password hunter2 -h db",
        ("-",),
    ),
    Rule(
        "assignment",
        r"(?P<keep>" + _STRONG + r"(?:[_-]?[0-9]{1,2})?" + _ASSIGN + _QUOTE + r")"
        r"(?(quote)(?!\[redacted)(?:(?!(?P=quote))[^\r\n])+|" + _WORD + r"{3,})",
        "password=hunter2",
    ),
    Rule(
        "weak-assignment",
        r"(?P<keep>(?<![A-Za-z0-9])" + _WEAK + _ASSIGN + _OPEN + r")"
        r"(?=[^\s\"',;&]{0,64}[0-9])" + _WORD + r"{8,}",
        "token=8f14e45fceea167a",
    ),
    Rule(
        "card",
        r"(?<![\w.-])[3-6](?:[ -]?[0-9]){12,18}(?![\w-])",
        "4242 4242 4242 4242",
        accept=_is_card,
    ),
)
