"""The authorization table, read: one cell for each answer on each front."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.security.authorization_requests import CALLERS, METHODS, STATES, UNFIT
from tests.security.authorization_table import REFUSALS, TABLE

FRONTS = ("server", "function")
_CODES = {str(status): code for code, status in reversed(REFUSALS.items())}
_HEADINGS = [line.split() for line in TABLE.splitlines()[1:] if line[:1] not in ("", " ")]
FUNCTIONS = {
    (method, path): function
    for methods, path, function in _HEADINGS
    for method in methods.split("|")
}
"""The function that serves a method of a path, for all that the table names."""
PATHS = tuple(dict.fromkeys(path for _, path in FUNCTIONS))


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
    changes_jobs: bool

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
    head, *lines = [line for line in TABLE.splitlines() if line]
    assert head.split() == list(CALLERS)
    for line in lines:
        if not line.startswith(" "):
            methods, path, _ = line.split()
            continue
        state, *answers = line.split()
        told = answers * len(CALLERS) if len(answers) == 1 else answers
        for method in methods.split("|"):
            yield from _row(method, path, state, dict(zip(CALLERS, told, strict=True)))


def routeless(method: str, path: str) -> list[Cell]:
    """The refusals that every request with this method of this path gets, whoever asks."""
    has_id = "{id}" in path
    refusals = (
        {} if (method, path) in FUNCTIONS else dict.fromkeys(STATES if has_id else "-", "405")
    )
    if has_id:
        refusals["malformed"] = "404"
    return [
        cell
        for state, answer in refusals.items()
        for cell in _row(method, path, state, dict.fromkeys(CALLERS, answer))
    ]


def _row(method: str, path: str, state: str, answers: Mapping[str, str]) -> Iterator[Cell]:
    for caller, answer in answers.items():
        told = answer.rstrip("=")
        code = _CODES.get(told, "" if told.isdigit() else told)
        # No gateway hands an undeclared method to a function, no authorizer an unfit key.
        reached = (method, path) in FUNCTIONS and caller not in UNFIT[1:]
        for front in FRONTS if reached else FRONTS[:1]:
            yield Cell(
                front=front,
                caller=caller,
                method=method,
                path=path,
                state=state,
                status=REFUSALS[code] if code else int(told),
                code=code,
                changes_jobs=method == "POST" and not code and told == answer,
            )


ROUTELESS = {
    (method, path): refused
    for path in PATHS
    for method in METHODS
    if (refused := routeless(method, path))
}
