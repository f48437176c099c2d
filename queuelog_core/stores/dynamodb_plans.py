"""Claims with a key: which jobs a claim means is written down before the first of them is claimed.

Whoever comes with the same key finds the plan and carries it out, so that two calls at once, or a
repeat after a crash, get the same jobs. A plan whose jobs have all gone on makes room for the next.
"""

import json
import secrets
from collections.abc import Sequence
from typing import NamedTuple

from queuelog_core.errors import Conflict, StoreBusy
from queuelog_core.job import Status
from queuelog_core.stores.dynamodb_claim import Ask, Claims
from queuelog_core.stores.dynamodb_client import Item, Refused, Value, number_in
from queuelog_core.stores.dynamodb_haul import Won
from queuelog_core.stores.dynamodb_items import EXPIRES
from queuelog_core.stores.dynamodb_jobs import ANSWERED_BY, TRIES, Jobs, Stored
from queuelog_core.stores.dynamodb_table import Key

REVISION, PLANNED = "rev", "ids"
KEPT_SECONDS = 2 * 86_400
"""Longer than any job may run."""


class Given(NamedTuple):
    """The jobs of a claim; `replayed`: an earlier call had planned it."""

    won: Won
    replayed: bool


class Plans:
    """Safe for many threads. Raises what Table raises."""

    def __init__(self, jobs: Jobs, claims: Claims) -> None:
        self._jobs = jobs
        self._claims = claims

    def claim(self, ask: Ask, claim_key: bytes) -> Given:
        """The jobs that still run under this key; else the best due ones, claimed under it."""
        key: Key = f"C#{claim_key.hex()}", "C"
        for number in range(TRIES):
            plan = self._jobs.table.get(key)
            if plan is not None and (held := self._carry_out(ask, claim_key, plan)).in_all:
                return Given(held, True)
            offered = self._claims.offer(ask)
            if not offered:
                return Given(Won([], []), False)
            mine = self._write_down(key, plan, offered, ask.instant)
            if mine is not None:
                held = self._carry_out(ask, claim_key, mine)
                self._claims.learn(len(offered) - held.in_all, ask.limit)
                if held.in_all:
                    return Given(held, False)
            self._jobs.stand_back(number)
        raise StoreBusy("others take what this claim was to get")

    def _carry_out(self, ask: Ask, claim_key: bytes, plan: Item) -> Won:
        """Claim what nobody has touched since it was planned; all that runs under the key then."""
        planned: dict[int, int] = dict(json.loads(str(plan[PLANNED])))
        found = self._jobs.read_bare(planned)
        # A key may have been narrowed since: what it may no longer have is left to others.
        allowed = [one for one in found.values() if one.job.type in ask.types]
        untouched = [one for one in allowed if one.job.version == planned[one.job.id]]
        written = self._jobs.each(lambda before: self._claim(ask, before), untouched)
        if not all(written):
            # Another call with this key may have been faster.
            found |= self._jobs.read_bare(one.job.id for one in untouched)
        found |= {one.job.id: one for one in written if one}
        held = [
            one
            for one in found.values()
            if one.job.status is Status.RUNNING
            and one.job.claim_key == claim_key
            and one.job.type in ask.types
        ]
        held.sort(key=lambda one: (-one.job.priority, one.job.run_at, one.job.id))
        return self._claims.with_payloads(held)

    def _claim(self, ask: Ask, before: Stored) -> Stored | None:
        try:
            return self._jobs.write(before, ask.claim(before.job))
        except Conflict:
            return None

    def _write_down(
        self, key: Key, old: Item | None, offered: Sequence[Stored], now: int
    ) -> Item | None:
        """The plan; None when another call with this key has written one meanwhile."""
        plan: dict[str, Value] = {
            PLANNED: json.dumps([(one.job.id, one.job.version) for one in offered]),
            REVISION: 1 + (0 if old is None else number_in(old, REVISION)),
            EXPIRES: now // 1000 + KEPT_SECONDS,
            ANSWERED_BY: secrets.token_bytes(8),
        }
        if old is None:
            there = self._jobs.table.put_new({"pk": key[0], "sk": key[1], **plan})
        else:
            there = None
            try:
                self._jobs.table.update(key, plan, {REVISION: number_in(old, REVISION)})
            except Refused:
                there = self._jobs.table.get(key)
        lost = there is not None and there.get(ANSWERED_BY) != plan[ANSWERED_BY]
        return None if lost else plan
