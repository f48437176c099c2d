"""The form of a redaction rule, and what its patterns share."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

# At the start of a word, also behind an escape such as \\n or %20 that ends in a letter or digit.
START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"


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
