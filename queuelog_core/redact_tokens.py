"""Tokens that are known by their form: prefixes that their issuers gave them for this purpose."""

from queuelog_core.redact_rule import START, Rule

TOKENS: tuple[Rule, ...] = (
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
        START + r"ql_(?:producer|worker|admin)_[A-Za-z0-9]{8,64}(?:_[A-Za-z0-9]{1,6})?",
        "ql_worker_0123456789abcdefghijABCDEFGHIJ0123456789abc_0a1B2c",
        ("ql_",),
    ),
    Rule(
        "aws-access-key",
        START + r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z2-7]{16}",
        "AKIAIOSFODNN7EXAMPLE",
        ("akia", "asia", "abia", "acca", "aroa", "aida"),
    ),
    Rule(
        "github",
        START + r"(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_\w{20,255})",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        ("gh", "github_pat_"),
    ),
    Rule(
        "gitlab",
        START + r"gl(?:pat|ptt|rt|dt|ft|cbt|soat|agent|imt|oas|ffct)-[A-Za-z0-9_=.-]{16,300}",
        "glpat-0123456789abcdefghij",
        ("gl",),
    ),
    Rule(
        "slack",
        START + r"(?:xox[abeoprsd](?:\.xox[a-z])?-|xapp-)[A-Za-z0-9-]{10,300}"
        r"|(?<=hooks\.slack\.com/)(?:services|workflows)/[A-Za-z0-9/_-]{16,200}",
        "xoxb-123456789012-abcdefABCDEF",
        ("xox", "xapp-", "hooks.slack.com/"),
    ),
    Rule(
        "stripe",
        START + r"(?:[rsp]k_(?:live|test)_[A-Za-z0-9]{10,250}|whsec_[A-Za-z0-9+/=]{16,200})",
        "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
        ("_live_", "_test_", "whsec_"),
    ),
    Rule(
        "google",
        START + r"(?:AIza[\w-]{35}|ya29\.[\w-]{20,2048}|GOCSPX-[\w-]{20,40}|1//0[\w-]{40,200})",
        "AIzaSyA0123456789abcdefghijABCDEFGHIJ01",
        ("aiza", "ya29.", "gocspx-", "1//0"),
    ),
    Rule(
        "ai-provider",
        START + r"(?:sk-(?:proj-|ant-|svcacct-|or-)?[\w-]{20,250}|hf_[A-Za-z0-9]{30,64}"
        r"|gsk_[A-Za-z0-9]{40,64}|r8_[A-Za-z0-9]{30,64}|xai-[A-Za-z0-9]{40,128})",
        "sk-proj-0123456789abcdefghijABCD",
        ("sk-", "hf_", "gsk_", "r8_", "xai-"),
    ),
    Rule(
        "mail-provider",
        START + r"(?:SG\.[\w-]{16,40}\.[\w-]{16,80}|xkeysib-[a-f0-9]{40,80}-\w{8,40}"
        r"|key-[0-9a-f]{32}|[0-9a-f]{32}-us[0-9]{1,2})(?![A-Za-z0-9])",
        "SG.0123456789abcdefghijAB.0123456789abcdefghijABCDEFGHIJ0123456789abc",
        ("sg.", "xkeysib-", "key-", "-us"),
    ),
    Rule(
        "twilio",
        START + r"SK[0-9a-f]{32}(?![A-Za-z0-9])",
        "SK0123456789abcdef0123456789abcdef",
        ("sk",),
    ),
    Rule(
        "package-registry",
        START + r"(?:npm_[A-Za-z0-9]{30,64}|pypi-[\w-]{16,500}|dckr_(?:pat|oat)_[\w-]{16,64}"
        r"|rubygems_[a-f0-9]{40,64}|oy2[a-z0-9]{43})",
        "npm_0123456789abcdefghijABCDEFGHIJ012345",
        ("npm_", "pypi-", "dckr_", "rubygems_", "oy2"),
    ),
    Rule(
        "commerce",
        START + r"(?:shp(?:at|ca|pa|ss)_[a-f0-9]{32}|sq0[a-z]{3}-[\w-]{22,64}|EAAA[\w-]{56,80}"
        r"|access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32})",
        "shpat_0123456789abcdef0123456789abcdef",
        ("shp", "sq0", "eaaa", "access_token$"),
    ),
    Rule(
        "cloud",
        START + r"(?:do[opr]_v1_[a-f0-9]{40,80}|HRKU-[\w-]{30,80}|dapi[a-f0-9]{32}"
        r"|hv[sbr]\.[\w-]{20,300}|fo1_[\w-]{40,80}|AGE-SECRET-KEY-1[0-9A-Z]{50,70}"
        r"|tfp?_[A-Za-z0-9]{40,80}|[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,100})",
        "dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        ("_v1_", "hrku-", "dapi", "hvs.", "hvb.", "hvr.", "fo1_", "age-secret", "tf", "atlasv1"),
    ),
    Rule(
        "saas",
        START + r"(?:lin_(?:api|oauth)_[A-Za-z0-9]{32,80}|NRAK-[A-Z0-9]{20,40}|figd_[\w-]{30,80}"
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
        START + r"(?:[0-9]{8,10}:AA[\w-]{30,40}|[MNO][A-Za-z0-9]{22,27}\.[\w-]{6}\.[\w-]{27,40})",
        "123456789:AAF0123456789abcdefghijABCDEFGHIJ01",
        (":aa", "."),
    ),
)
