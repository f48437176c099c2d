"""Secrets known by their form: prefixes that issuers gave their tokens, keys, and addresses."""

import re

from queuelog_core.redact_rule import RANDOM, START, Rule, is_drawn


def _prefixed(name: str, prefixes: str, example: str, least: int = 16) -> Rule:
    """Tokens that begin with one of `prefixes` and go on for at least `least` characters."""
    needles = tuple(prefixes.lower().split())
    forms = "|".join(map(re.escape, needles))
    return Rule(name, rf"{START}(?:{forms}){RANDOM}{{{least},}}", example, needles)


_AWS_KEY = r"(?:akia|asia|abia|acca|aroa|aida)[a-z2-7]{16}"


def _is_card(text: str) -> bool:
    """Luhn's check, so that an order number is left alone."""
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


PRIVATE_KEYS: tuple[Rule, ...] = (
    Rule(
        "private-key",
        r"-{4,5} ?begin[a-z0-9 ]{0,40}private key(?: block)? ?-{4,5}(?:[^-]|-(?!---))*+"
        r"(?:-{4,5} ?end[a-z0-9 ]{0,60}-{4,5})?",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
        ("private key",),
    ),
    Rule(
        "private-key",
        # Its tail. Each run of base64 is read once, and is a key only if such a line ends it.
        r"(?:[a-z0-9+/=\r\n]|\\(?=[\\nr])|(?<=[\r\n ])[ \t]|[ \t](?=[\r\n ])|(?<=\\n) "
        r"|(?<=[a-z0-9+/=]{20}) )++"
        r"(?: ?-{4,5} ?end[a-z0-9 ]{0,40}private key(?: block)? ?-{4,5})?",
        "MIIEpAIBAAKCAQEA0123456789\nabcdefghijABCDEFGHIJ==\n-----END RSA PRIVATE KEY-----",
        ("private key",),
        accept=lambda text: text.endswith("-") and bool(re.search(r"[\w+/=]{16}", text)),
    ),
    Rule(
        "private-key",
        r"(?P<keep>private-lines:\s?+)(?!\[redacted)[^-]++(?:-mac\s?:\s?[0-9a-f]{16,128})?",
        "Private-Lines: 1\nAAAAgQCvXyYxWk\nPrivate-MAC: 0123456789abcdef0123456789abcdef",
        ("private-lines",),
    ),
    Rule(
        "private-key",
        # PKCS#8, PKCS#1, and the DER of elliptic curves, without the lines around them.
        rf"{START}(?:mii[a-z0-9+/]{{3}}iba(?:dan|ak[bc])|mhccaqeei|mighageambmg|mc4caqawbqydk2vw)"
        r"[\w+/=%]{16,}",
        "MIIEvgIBADANBgkqhkiG9w0BAQEFAASC",
        ("mii", "mhcca", "mighag", "mc4caq"),
    ),
    Rule(
        "private-key",
        r"(?P<keep>(?<=[\"'])(?:d|k|p|q|dp|dq|qi)[\"'\\]{1,8}\s{0,3}:\s{0,3}[\"'\\]{1,8})[\w-]{20,}",
        '{"kty": "oct", "k": "0123456789abcdefghijAB"}',
        ("kty",),
    ),
)

TOKENS: tuple[Rule, ...] = (
    Rule(
        "jwt",
        # A dash starts no word here: every one in a long token would be another start.
        r"(?<![a-z0-9_-])eyj[\w-]{8,2048}(?:(?:\.[\w-]*){1,4}|(?<=[\w-]{512}))",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVPmB92K27u",
        ("eyj",),
    ),
    _prefixed(
        "queuelog-key",
        "ql_producer_ ql_worker_ ql_admin_",
        "ql_worker_0123456789abcdefghijABCDEFGHIJ0123456789abc_0a1B2c",
        least=8,
    ),
    Rule(
        "aws-access-key",
        # Keys have one length, so another may follow at once.
        rf"(?:{START}|(?<={_AWS_KEY})){_AWS_KEY}",
        "AKIAIOSFODNN7EXAMPLE",
        ("akia", "asia", "abia", "acca", "aroa", "aida"),
    ),
    Rule(
        "aws-secret-key",
        r"(?P<keep>\[redacted:aws-access-key\][^\w\r\n]{1,8})[a-z0-9+/]{40}(?![a-z0-9+/])",
        "[redacted:aws-access-key] / 0123456789abcdefghijABCDEFGHIJ0123456789",
        ("[redacted:aws",),
    ),
    _prefixed(
        "forge",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glptt- glrt- glft- glcbt- glsoat-"
        " glagent- glimt- gloas- glffct- GR1348941 ATATT3 ATCTT3 ATBB sgp_"
        " sqp_ squ_ sqa_ CCIPAT_ CCIPRJ_ bkua_",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    ),
    _prefixed(
        "chat",
        "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- LTAI",
        "xoxb-123456789012-abcdefABCDEF",
        least=10,
    ),
    _prefixed(
        "payment",
        "sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_ whsec_ shpat_ shpca_ shppa_ shpss_"
        " sq0atp- sq0csp- sq0idp- EAAA rzp_live_ rzp_test_ FLWSECK- FLWSECK_TEST-"
        " access-production-"
        " access-sandbox- shippo_live_ shippo_test_ duffel_live_ EZAK",
        "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
        least=10,
    ),
    _prefixed(
        "google",
        "AIza ya29. GOCSPX- 1//0",
        "AIzaSyA0123456789abcdefghijABCDEFGHIJ01",
        least=20,
    ),
    _prefixed(
        "ai-provider",
        "sk-proj- sk-ant- sk-svcacct- sk-admin- sk-or- hf_ gsk_ r8_ xai- pplx- lsv2_pt_ lsv2_sk_",
        "sk-proj-0123456789abcdefghijABCD",
    ),
    Rule(
        "ai-provider",
        START + rf"sk-(?=[a-z]{{0,40}}[0-9])[a-z0-9]{RANDOM}{{20,}}",
        "sk-0123456789abcdefghijABCD",
        ("sk-",),
    ),
    _prefixed(
        "package-registry",
        "npm_ pypi- dckr_pat_ dckr_oat_ rubygems_ CLOJARS_ AKCp",
        "npm_0123456789abcdefghijABCDEFGHIJ012345",
    ),
    _prefixed(
        "cloud",
        "dop_v1_ doo_v1_ dor_v1_ HRKU- dapi hvs. hvb. hvr. fo1_ fm1_ fm2_ AGE-SECRET-KEY-1 nfp_"
        " pul- rnd_ sbp_ pscale_tkn_ pscale_pw_ pscale_oauth_ tskey- pnu_ dp.pt."
        " dp.st. ops_eyJ v1.0-"
        " sdk-",
        "dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        least=24,
    ),
    _prefixed(
        "saas",
        "lin_api_ lin_oauth_ NRAK- NRII- NRJS- figd_ figu_ PMAK- sntrys_ sntryu_ glc_eyJ glsa_ ntn_"
        " CFPAT- pat-na1- pat-eu1- sk.eyJ tfp_ dt0c01. dt0s01. xkeysib- rdme_ CfDJ8 EAACEdEose0cBA",
        "lin_api_0123456789abcdefghijABCDEFGHIJ0123456789",
    ),
    Rule(
        "token",
        r"(?<![a-z0-9])(?:sg\.[\w-]{16,40}\.[\w-]{16,80}"  # SendGrid
        r"|re_[a-z0-9]{8}_[a-z0-9]{20,40}"  # Resend
        r"|pat[a-z0-9]{14}\.[a-f0-9]{64}"  # Airtable
        r"|secret_[a-z0-9]{43}"  # Notion
        r"|sl\.[\w-]{60,2048}"  # Dropbox
        r"|[a-z0-9]{14}\.atlasv1\.[\w=-]{40,100}"  # Terraform
        r"|[\w~.]{3}[78]q~[\w~.-]{31,34}"  # Azure
        r"|(?:st|tgt|pt|pgt)-[0-9]{1,10}-[a-z0-9]{16,64}(?![a-z0-9_])[\w.-]{0,64}"  # CAS
        r"|aqe[a-z0-9+/]{20,100}-[\w+/=-]{20,200}"  # Adyen
        r"|access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"  # Braintree
        r"|[mno][a-z0-9]{22,27}\.[\w-]{6}\.[\w-]{27,40}"  # Discord
        r"|eaa[a-z0-9]{80,400})",  # Facebook
        "SG.0123456789abcdefghijAB.0123456789abcdefghijABCDEFGHIJ0123456789abc",
        (".", "re_", "secret_", "q~", "access_token$", "eaa", "t-", "aqe"),
    ),
    Rule(
        "token",
        r"(?<![a-z0-9])(?:(?:key-|sk|nr)?[0-9a-f]{32}(?:-us[0-9]{1,2}"
        r"|(?:-[0-9a-f]{8}){2}(?![0-9a-f-]))"
        r"|(?:key-|sk)[0-9a-f]{32}|[0-9a-f]{36}nral"
        r"|oy2[a-z0-9]{43}|cio[a-z0-9]{32}|su[a-z2-7]{56}|s\.[a-z0-9]{24})(?![a-z0-9])",
        "key-0123456789abcdef0123456789abcdef",
    ),
    Rule(
        "token",
        r"(?<![0-9])(?:[0-9]{8,10}:aa[\w-]{30,40}|[0-9]/[0-9]{16}:[0-9a-f]{32})"
        r"|(?<![\w-])[\w-]{11}:apa91b[\w-]{20,}",
        "123456789:AAF0123456789abcdefghijABCDEFGHIJ01",
        (":",),
    ),
    Rule(
        "token",
        r"(?P<keep>(?<![a-z0-9])ac[0-9a-f]{32}[\"']?[\s:,]{1,4}[\"']?)[0-9a-f]{32}",
        "AC0123456789abcdef0123456789abcdef:76543210fedcba9876543210fedcba98",
        ("ac",),
    ),
    Rule(
        "webhook",
        r"(?P<keep>//[\w.-]{0,64}hooks?\.[\w.-]{1,64}/|/webhook[\w]{0,4}/)(?=[^\s\"'<>]{0,64}[0-9])"
        r"[\w/@.-]{12,}",
        "https://hooks.slack.com/services/T0123456/B0123456789/0123456789abcdefghijABCD",
        ("hook",),
    ),
    Rule(
        "link",
        rf"(?P<keep>/(?:reset|verify|confirm|invite|activate|login|magic|with/key)[\w-]{{0,16}}/)"
        rf"(?=\S{{0,64}}[0-9]){RANDOM}{{20,}}",
        "https://example.com/reset/0123456789abcdefABCDEF",
        ("/reset", "/verify", "/confirm", "/invite", "/activate", "/login", "/magic", "/key"),
        accept=is_drawn,
    ),
    Rule(
        "password-hash",
        r"\$(?:[1256y]|2[abxy]|apr1|argon2[a-z]{1,2}|scrypt)\$[\w./+=,$-]{16,}"
        r"|pbkdf2[\w-]{0,16}[$:][\w./+=,$:-]{16,}|\{s?(?:sha|md5)[0-9]{0,3}\}[\w+/=]{16,}"
        r"|(?<![0-9a-f])[0-9a-f]{32}:[0-9a-f]{32}(?=:::)",
        "$2b$12$0123456789abcdefghijABCDEFGHIJ",
        ("$", "}", ":::"),
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
)

ADDRESSES: tuple[Rule, ...] = (
    Rule(
        "dsn-userinfo",
        r"(?<![\w/.@-])(?!mailto:)[\w.-]{1,64}:[^\s:@/\"'<>\[\]]{3,128}@(?=[\w(\[])"
        r"|(?<![\w/.:@-])[\w$#]{1,32}/[^\s/@]{3,128}@(?=//[\w\[])"
        r"|(?P<keep>thin:|\bsqlplus (?:-\w{1,2} )?)[^\s/@]{1,64}/[^\s/@]{3,128}@",
        "root:hunter2@tcp(db:3306)/prod",
        ("@",),
    ),
    Rule(
        "pgpass",
        r"(?P<keep>(?<![\w.*-])[\w.*-]{1,64}:(?:[0-9]{2,5}|\*):[\w*-]{1,64}:[\w.-]{1,64}:)(?!\[redacted)[^\s:]{3,}",
        ".pgpass: db:5432:shop:app:hunter2",
        ("pgpass",),
    ),
    Rule(
        "url-userinfo",
        r"(?<=://)(?![a-z_-]{1,16}@)[^\s/\"'<>@:]{1,256}@"
        r"|(?<=://)[^\s/\"'<>@:\[]{0,256}:(?![0-9]{1,5}(?![\w!$%*+.=~@-]))"
        r"(?:[^\s\"'<>]{1,256}@(?=[\w(\[]|/\w)|[^\s\"'<>@]{200,})",
        "postgres://app:hunter2@db.internal:5432/prod",
        ("://",),
    ),
)
"""User and password in the address of a server."""
