"""The form of a redaction rule, and what its patterns share.

Patterns are written in lower case. A worker chooses the text, so every one of them is linear: its
repetitions are bounded, and after an unbounded one nothing must match, so that what was read once
is replaced and never read again.
"""

import functools
import re
from collections.abc import Callable
from string import hexdigits
from typing import NamedTuple

START = r"(?<![a-z0-9_])"

_PASSWORDS = (
    r"pass[_-]?(?:word|wd|phrase|code)|pwd|passwort|kennwort|contrase(?:n|ñ)a|senha|wachtwoord"
    r"|has[łl]o|parola(?: d.ordine)?|mot[ _-]de[ _-]passe|парол[ьяею]|密[码碼]|パスワード"
    r"|비밀번호|암호"
    r"|(?:snmp-server |\br[ow])community|community[ _-]string"
    r"|كلمة (?:المرور|السر)|(?<![a-z])(?:pw|psk)|requirepass|masterauth"
    r"|(?:(?<![a-z])|db|ftp|http|ldap|mail|root|smtp|user)pass"
)
_SECRETS = (
    r"(?<![0-9]:)secret|clé (?:secrète|privée|d.api)|clave (?:secreta|privada)"
    r"|geheime[nrs]? schlüssel|секретн\w{2,3} ключа?|密[钥鑰]|秘密鍵|credential|mnemonic"
    r"|dockerconfigjson|sess(?:ion)?[_-]?id|code[_-]verifier|(?:device|user)_code"
    r"|honeycomb-team|(?:backup|recovery)[ _-]?code"
    r"|(?:api|apim|app|application|access|account|admin|agent|auth|client|consumer"
    r"|crypt|deploy|encryption|fernet|hmac|host|license|licence|master|private|secret|service|shared"
    r"|sign|signing|storage|subscription|unseal|wallet|webhook)[_. -]?key"
    r"|(?:access|admin|api|auth|bearer|bot|client|csrf|device|(?<!inval)id|identity|middleware|oauth|private"
    r"|refresh|reset|sas|secret|security|session|sync|xsrf)[_ -]?token"
)
_SUFFIX = (
    r"(?:[_-]?(?:access[_-]?key|base|confirm(?:ation)?|data|hash|id|json|key|new|old|string|text|value|s))?"
    r"(?:[ _-]?[0-9]{1,2})?"
)
LABEL = rf"(?:{_PASSWORDS}|{_SECRETS}){_SUFFIX}"
"""The name of a thing that is secret whatever it looks like."""

LABEL_NEEDLES = (
    *("pass", "pwd", "kennw", "contras", "senha", "wachtw", "has", "parola", "парол", "密", "パス"),
    *(
        "비밀",
        "암호",
        "كلمة",
        "pw",
        "psk",
        "masterauth",
        "secret",
        "credential",
        "mnemonic",
        "sess",
    ),
    *("dockerconfig", "verif", "honeycomb", "backup", "recovery", "key", "token"),
    *("communit", "_code", "clé ", "clave ", "schlüssel", "секретн"),
)

SEPARATOR = (
    r"[\"'`\\\])]{0,8}\s{0,8}(?:=>|:=|==?|::(?=\s)|[:：＝](?!:)|[「【](?=[!-~])"
    r"|[为是はが](?=\s?[!-~]{4})|(?<=\s)->)\s{0,8}"
)
_HIDDEN = (
    r"<[a-z_ -]{0,24}(?:missing|none|empty|hidden|redacted|masked|removed|unset|null|nil|password"
    r"|secret|token|key)>"
)
OPEN = rf"(?:[bru](?=[\"']))?(?:[({{\"'\\]|(?!{_HIDDEN})<|\[(?!redacted|\])){{0,8}}+"

# What stands behind a label in a sentence, a template or a program is no secret.
_SAID = (
    "must should shall may might can cannot could would will is are was were be been has have had"
    " does do did not no none null nil undefined unset empty blank missing required optional"
    " invalid incorrect wrong bad expired rejected denied refused failed failure error unknown"
    " unsupported unavailable"
    " unauthorized forbidden malformed mismatch too please try retry again use using"
    " enter provide check see set field value input the a an it its your you we they expected"
    " expecting unexpected got found given supplied specified default true false yes on off in to"
    " from for with without by as at of and or but if when while because since only length minimum"
    " maximum at least less more contains string number integer type file option flag argument"
    " column reset change forgotten permission trop incorrecte? invalide requis doit est non ne"
    " falsch ungültig muss nicht bitte fehlt ist zu incorrect[ao] inválid[ao] incorreta debe deve"
    " es requerida não errata obrigatória moet onjuist musi nieprawidłowe неверный неверен"
    " не должен попробуйте 错误 不正确 不能为空"
)
_PLACEHOLDER = (
    rf"\[redacted|[*•x]{{3,64}}(?![\w!])|\$\{{|\$\(|%\(|%s|\{{\{{|{_HIDDEN}"
    r"|\{\}|\[\]|\(\)|(?:password|secret|token|key)(?:[\]>}]| [a-z]{2,32} [a-z]{2,32})"
    r"|(?:rsa|dsa|ecdsa|ed|aes|hmac|sha|[hre]s)-?[0-9]{0,5}(?![\w.!=+/-])"
)
_CODE = (
    r"(?:[a-z_]{0,32}[_.][a-z_.]{0,32}|input|getpass|str|string|secretstr|some|n?(?:var)?char2?)[(\[]"
    r"|[a-z]{3,32}(?:error|exception):|(?:self|this|settings|config|conf"
    r"|opts|options|args|request|req|process|env|os|params|props|ctx|data|body|form|user|app|secrets)"
    r"\.[a-z_]{2,32}(?![\w.])"
)
NO_SECRET = (
    rf"(?!{_PLACEHOLDER}|{_CODE}|(?:{'|'.join(_SAID.split())}|this (?:field|value)"
    r"|(?:this|your) [a-z]{2,16} (?:is|are|was|has|have|may|must|should|can|does|will))"
    r"(?=[.,;:!?]?(?:[\s\"'`)\]}]|$)))"
)

QUOTE = r"(?P<quote>\\{0,3}[\"'`])"
# One that is escaped once more than the quotes, or has a letter behind it, ends nothing.
_INSIDE_QUOTES = (
    r"(?:\\\\(?:\\\\)?(?:(?=\\)|(?=[\"'`]\w))(?P=quote)"
    r"|(?!(?P=quote))(?:\\[^\r\n]|[^\r\n\\]))"
)
_PLAIN = r"(?:[^\s\"'`\\,;&<>()\[\]{}:，。」】]|:(?!\s))"
# Punctuation inside a value, unless it ends the value or another assignment follows it.
_INSIDE = rf"[,;&()\[\]{{}}\"'](?={_PLAIN})(?![\w.$-]{{1,24}}[\"']?[=:])"
VALUE = rf"(?:{_PLAIN}|{_INSIDE}|\\(?![nrtu\"'\\]))"
"""One character of a value that stands without quotes."""
RANDOM = r"[\w+/=.~%-]"
"""One character of a value that a machine drew."""

# What stands between a label and its value, and the value. `pass` alone is a verb as well.
QUOTED = (
    rf"(?P<keep1>(?:{SEPARATOR}[\[(]?(?:some\(|secretstr\(|string\([0-9]{{1,4}}\) |\]?string\{{)?"
    # In a sentence only a password; in a pair only what is not the name of another field.
    r"|\s(?<!secret.)(?<!key.)(?<!token.)(?<!l.)(?<!s.)\s{0,2}\(?"
    r"|[\"'],\s?(?=[bu]?[\"'][a-z_ ]{0,64}[^a-z_ \"']))"
    rf"[brun@]{{0,2}}{QUOTE}){NO_SECRET}{_INSIDE_QUOTES}+"
)
UNQUOTED = (
    rf"(?P<keep2>(?:(?<!pass)|(?<=[_.-]pass)|(?=[\"'\\]{{0,8}}\s{{0,3}}=)){SEPARATOR}(?:[>|][+-]?\s{{1,8}})?{OPEN})"
    rf"{NO_SECRET}(?![\"'`]|{LABEL}{SEPARATOR}){VALUE}{{3,}}"
)
ELEMENT = (
    r"(?P<keep3>[\"'\](\s][^<>{}]{0,60}?\b(?:input_)?(?:value|input)[\"']?\s?[=:]\s?[\"']?"
    r"|(?:[\"'\s][^<>\r\n]{0,80}+|</[\w:-]{1,40}>\s{0,16}<[\w:-]{0,40}(?:value|string))?"
    r"(?<![=/-])(?P<tag>>)(?! [^<>\r\n]{0,80}(?:[\r\n]|$))(?:<[^<>\r\n]{1,40}>)?(?:<!\[cdata\[)?)"
    rf"{NO_SECRET}(?(tag)[^<>\r\n]{{3,}}|[^\s\"']{{3,}})"
)
TOLD = (
    rf"(?P<keep4>(?:(?<!pass)|(?<=requirepass))\s{{1,8}}"
    rf"(?:for [a-z ]{{1,24}} (?:is|was) |is |was |of |ist |lautet |est |es |это )?[\"']?)"
    rf"{NO_SECRET}(?!\(?[\w./\\:@-]{{1,128}}\.[a-z]{{1,4}}:[0-9])"
    r"(?=\S{0,40}(?:[0-9]|\w[!#$*^~]\w))(?=\S{0,40}[a-z!#$*+=?^~])[^\s\"',;]{6,}"
)


def is_drawn(text: str) -> bool:
    """Whether no person wrote this: mixed case with digits, or hexadecimal."""
    kinds = (str.isupper, str.islower, str.isdigit)
    return all(any(map(kind, text[:40])) for kind in kinds) or not set(text[:20]) - set(hexdigits)


_compiled = functools.cache(re.compile)


class Rule(NamedTuple):
    """A kind of secret. A group `keep…` in the pattern stays; the rest of the match is replaced.

    The pattern is matched against the lower-cased text, which is ten times faster than a match that
    ignores case; `accept` is shown the secret as it was written. `needles`: literals of which one
    is always present; they spare the pattern a run."""

    name: str
    expression: str
    example: str
    needles: tuple[str, ...] = ()
    accept: Callable[[str], bool] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is first needed: most processes never see an error text."""
        return _compiled(self.expression)

    def spans(self, text: str, lowered: str) -> list[tuple[int, int]]:
        """Where such secrets stand; `lowered` is `text` in lower case, character by character."""
        if self.needles and not any(needle in lowered for needle in self.needles):
            return []
        keeps = [name for name in self.pattern.groupindex if name.startswith("keep")]
        found = (
            (max([match.start(), *map(match.end, keeps)]), match.end())
            for match in self.pattern.finditer(lowered)
        )
        return [span for span in found if self.accept is None or self.accept(text[slice(*span)])]

    def replace(self, text: str, spans: list[tuple[int, int]]) -> str:
        """The text with the rule's name in place of each span."""
        pieces, kept_from = [], 0
        for start, end in spans:
            pieces += [text[kept_from:start], f"[redacted:{self.name}]"]
            kept_from = end
        return "".join([*pieces, text[kept_from:]])
