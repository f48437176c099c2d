"""The authorization table, read: one cell for each answer on each front."""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.security.authorization_table import CALLERS, REFUSALS, STATES, TABLE, UNFIT

FRONTS = ("server", "function")
_CODES = {str(status): code for code, status in reversed(REFUSALS.items())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One answer of the table, on one front. `code` is empty for an answer that is no refusal."""

    front: str
    caller: str
    method: str
    path: str
    state: str
    status: int
    code: str

    @property
    def may_change_jobs(self) -> bool:
        return not self.code and self.method == "POST"

    def __str__(self) -> str:
        what = STATES.get(self.state, "no body" if self.state == "-" else f"body {self.state}")
        told = self.code or self.status
        who = f"{CALLERS[self.caller]} sends the {self.front}"
        return f"{who} {self.method} {self.path} for {what} and gets {told}"


def rows(text: str) -> dict[str, dict[str, str]]:
    """A table with names in its first column and its first line."""
    head, *lines = (line.split() for line in text.strip().splitlines())
    return {name: dict(zip(head, cells, strict=True)) for name, *cells in lines}


def cells() -> Iterator[Cell]:
    """Every answer of the table, on every front that a request of its kind reaches."""
    lines = [line for line in TABLE.splitlines() if line]
    assert lines[0].split() == list(CALLERS)
    for line in lines[1:]:
        if not line.startswith(" "):
            methods, path = line.split()
            continue
        state, *answers = line.split()
        states = [name for name in STATES if name != "malformed"] if state == "any" else [state]
        told = answers * len(CALLERS) if len(answers) == 1 else answers
        for name in states:
            for caller, answer in zip(CALLERS, told, strict=True):
                code = _CODES.get(answer, "" if answer.isdigit() else answer)
                # No authorizer lets an unfit key through to a function.
                for front in FRONTS[:1] if caller in UNFIT[1:] else FRONTS:
                    for method in methods.split("|"):
                        yield Cell(
                            front=front,
                            caller=caller,
                            method=method,
                            path=path,
                            state=name,
                            status=REFUSALS[code] if code else int(answer),
                            code=code,
                        )
