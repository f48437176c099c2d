"""What a run has done: steps, calls of each verb, and how each was answered."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from queuelog_core.job import RELEASE_LIMIT, Job
from tests.model.reference import READING, VERBS
from tests.model.wire import Reply


class Figures:
    """Counted as the machine goes, also in the examples that a failure is shrunk with."""

    def __init__(self) -> None:
        self.looks = 0
        self.examples = 0
        self.calls: Counter[tuple[str, str]] = Counter()
        self.effects: Counter[str] = Counter()
        self.arrows: Counter[str] = Counter()

    @property
    def steps(self) -> int:
        """Hypothesis looks once before the first step of an example, and after each."""
        return self.looks - self.examples

    def count(self, verb: str, reply: Reply, *, effect: bool) -> None:
        """One call."""
        answer = f"{reply.status} {reply.code or ''}".strip()
        answer += " replayed" if reply.replayed else ""
        answer += " mismatch" if "Idempotency-Payload-Mismatch" in reply.headers else ""
        self.calls[verb, answer] += 1
        self.effects[verb] += effect

    def count_arrow(self, verb: str, before: Job | None, after: Job | None) -> None:
        """One job that a call has changed."""
        start = "none" if before is None else before.status.value
        end = "none" if after is None else after.status.value
        last = after.history[-1] if after and after.history else None
        limited = verb == "release" and last is not None and last.error_code == RELEASE_LIMIT
        self.arrows[f"{verb}: {start} -> {end}{' by its limit' if limited else ''}"] += 1

    def of(self, verb: str) -> int:
        """How often a verb was called."""
        return sum(n for (name, _), n in self.calls.items() if name == verb)

    @property
    def share_with_effect(self) -> float:
        """Of the calls of verbs that write, the part that changed something."""
        writing = sum(self.of(verb) for verb in VERBS if verb not in READING)
        return sum(self.effects.values()) / max(1, writing)

    def to_json(self) -> dict[str, Any]:
        calls = {f"{verb} {answer}": n for (verb, answer), n in sorted(self.calls.items())}
        return {
            "steps": self.steps,
            "examples": self.examples,
            "calls": calls,
            "effects": dict(self.effects),
            "arrows": dict(self.arrows),
        }

    def add(self, document: Mapping[str, Any]) -> None:
        """Take in what `to_json` wrote of another run."""
        self.looks += document["steps"] + document["examples"]
        self.examples += document["examples"]
        self.arrows.update(document["arrows"])
        self.effects.update(document["effects"])
        for name, n in document["calls"].items():
            verb, _, answer = name.partition(" ")
            self.calls[verb, answer] += n

    def table(self) -> str:
        """For people: how each verb was called and answered, and the sum of it as the last line."""
        total = max(1, sum(self.calls.values()))
        arrows = (f"{arrow} {n:,}" for arrow, n in sorted(self.arrows.items()))
        return "\n".join(
            [
                f"{'verb':13}{'calls':>9}{'share':>7}{'effect':>8}  answers",
                *(self._line(verb, total) for verb in VERBS),
                " · ".join(arrows),
                f"{self.steps:,} steps in {self.examples:,} examples, {total:,} calls; of those"
                f" that write, {self.share_with_effect:.0%} changed something",
            ]
        )

    def _line(self, verb: str, total: int) -> str:
        calls = max(1, self.of(verb))
        answers = [
            f"{answer} {n / calls:.1%}"
            for (name, answer), n in self.calls.most_common()
            if name == verb
        ]
        shares = f"{self.of(verb) / total:>7.1%}{self.effects[verb] / calls:>8.0%}"
        return f"{verb:13}{self.of(verb):>9,}{shares}  {' · '.join(answers)}"
