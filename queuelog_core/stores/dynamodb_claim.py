"""The claim of the DynamoDB store: look at all lanes at once, settle some leases, take the best.

A lone worker takes the head. One that loses jobs to others picks among the first few at random, and
from more of them the more it loses.
"""

import contextlib
import random
import threading
from collections.abc import Sequence
from typing import NamedTuple

from queuelog_core.errors import Conflict, StoreBusy, StoreUnavailable
from queuelog_core.job import Job, Status
from queuelog_core.stores import Transition
from queuelog_core.stores.dynamodb_haul import Haul, Won
from queuelog_core.stores.dynamodb_heads import Entry, Heads
from queuelog_core.stores.dynamodb_jobs import Jobs, Stored

SETTLED_PER_TYPE = 16
SETTLED_MAX = 64
WINDOW = 20
WINDOW_MAX = 100
LOOKS_MAX = 5


class Ask(NamedTuple):
    """What a claim asks for."""

    instant: int
    types: Sequence[str]
    limit: int
    settle: Transition
    claim: Transition


class Claims:
    """Safe for many threads. Raises what Table raises."""

    def __init__(self, jobs: Jobs, heads: Heads) -> None:
        self._jobs = jobs
        self._heads = heads
        self._lock = threading.Lock()
        self._spread = 1.0

    def take(self, ask: Ask) -> Won:
        """Settle some overdue leases of these types, then claim the best due jobs."""
        haul = Haul()
        settled = lost = 0
        for number in range(LOOKS_MAX):
            missed = 0
            with haul.kept_whatever_comes():
                overdue, due = self._look(ask, ask.limit - len(haul.claimed))
                if number == 0 or not (due or haul.claimed):
                    settled += self._settle_some(ask, overdue, due, SETTLED_MAX - settled)
                missed = self._grant(ask, due, haul)
            lost += missed
            if len(haul.claimed) >= ask.limit or not missed:
                break
            self._jobs.stand_back(number)
        else:
            if not haul.claimed:
                # There was work at every look: an empty answer would say that there is none.
                raise StoreBusy("others were faster each time")
        self.learn(lost, ask.limit)
        return haul.won()

    def with_payloads(self, claimed: Sequence[Stored]) -> Won:
        """What was claimed, as its worker needs it."""
        return Haul(claimed, self._jobs.texts_of([one.item for one in claimed])).won()

    def offer(self, ask: Ask) -> list[Stored]:
        """What `take` would claim, as it is now."""
        for number in range(LOOKS_MAX):
            overdue, due = self._look(ask, ask.limit)
            self._settle_some(ask, overdue, due, SETTLED_MAX if number == 0 else 0)
            offered: list[Stored] = []
            lost = 0
            due.sort(key=lambda entry: entry.order)
            while due and len(offered) < ask.limit:
                picks = self._pick(due, ask.limit - len(offered))
                free = [before for before, _ in self._decide(ask, picks)]
                taken = {entry.id for entry in picks} - {one.job.id for one in free}
                self._heads.spend(entry for entry in picks if entry.id in taken)
                offered += free
                lost += len(taken)
            self.learn(lost, ask.limit)
            if offered or not lost:
                return offered
            self._jobs.stand_back(number)
        raise StoreBusy("others were faster each time")

    def learn(self, lost: int, limit: int) -> None:
        """Pick from more after a call that lost jobs to others, from fewer after one that did
        not."""
        with self._lock:
            if lost:
                wider = max(self._spread * 2, 4.0 * (limit - 1))
                self._spread = min(float(WINDOW), wider)
            else:
                self._spread = max(1.0, self._spread - 0.5)

    def settle(self, entries: Sequence[Entry], settle: Transition) -> list[Stored]:
        """Settle the leases of these jobs that ran out: the jobs as they are then."""

        def apply(before: Stored) -> Stored | None:
            try:
                return self._jobs.write(before, settle(before.job))
            except Conflict:
                # A heartbeat, a report or somebody else's claim came first.
                return None

        found = self._jobs.read_bare(entry.id for entry in entries)
        written = self._jobs.each(apply, list(found.values()))
        self._heads.spend(entries)
        return [stored for stored in written if stored]

    def _look(self, ask: Ask, wanted: int) -> tuple[list[list[Entry]], list[Entry]]:
        """Overdue leases by type, the oldest first, and the best due jobs of each lane."""
        running, pending = self._heads.running(ask.types), self._heads.pending(ask.types)
        # Batches that meet in a window of their own size lose most of it to each other.
        window = max(WINDOW, wanted, min(5 * wanted, WINDOW_MAX))
        lanes = [(lane, SETTLED_MAX) for lane in running] + [(lane, window) for lane in pending]
        seen = self._heads.look(lanes, ask.instant)
        overdue: dict[str, list[Entry]] = {name: [] for name in ask.types}
        for lane, entries in zip(running, seen, strict=False):
            overdue[lane.type] += entries
        due = [entry for entries in seen[len(running) :] for entry in entries]
        return [sorted(entries) for entries in overdue.values()], due

    def _settle_some(
        self, ask: Ask, overdue: list[list[Entry]], due: list[Entry], most: int
    ) -> int:
        """Settle leases until there is a due job; those that are due again join `due`."""
        settled = 0
        while settled < most and any(overdue):
            some = [entry for entries in overdue for entry in entries[:SETTLED_PER_TYPE]]
            some = some[: most - settled]
            for entries in overdue:
                del entries[:SETTLED_PER_TYPE]
            for stored in self.settle(some, ask.settle):
                settled += 1
                job = stored.job
                if job.status is Status.PENDING and job.run_at <= ask.instant:
                    due.append(
                        Entry(job.run_at, job.id, job.version, job.type, job.priority, stored)
                    )
            if due:
                break
        return settled

    def _grant(self, ask: Ask, due: list[Entry], haul: Haul) -> int:
        """Claim these as far as they are wanted; how many were lost to others."""
        lost = 0
        due.sort(key=lambda entry: entry.order)
        while due and len(haul.claimed) < ask.limit:
            picks = self._pick(due, ask.limit - len(haul.claimed))
            lost += len(picks) - self._try(ask, picks, haul)
        return lost

    def _pick(self, due: list[Entry], wanted: int) -> list[Entry]:
        """Take some of the highest priority out of `due`, the best ones unless others crowd."""
        group = sum(entry.priority == due[0].priority for entry in due)
        width = min(group, max(wanted, int(self._spread)))
        places = sorted(random.sample(range(width), min(wanted, width)))
        picks = [due[place] for place in places]
        for place in reversed(places):
            del due[place]
        return picks

    def _try(self, ask: Ask, picks: Sequence[Entry], haul: Haul) -> int:
        """Claim each of these, if it is still to be had; how many were."""
        # All are decided and their texts read before the first is written: a fault in one claims
        # none (B31), and what is claimed can be handed out.
        moves = self._decide(ask, picks)
        haul.texts |= self._jobs.texts_of([before.item for before, _ in moves])
        written = self._jobs.each(self._write, moves)
        # One that was throttled is still to be had, also by this process.
        unsure = {
            before.job.id
            for (before, _), answer in zip(moves, written, strict=True)
            if isinstance(answer, StoreUnavailable)
        }
        self._heads.spend(entry for entry in picks if entry.id not in unsure)
        won = [answer for answer in written if isinstance(answer, Stored)]
        haul.claimed += won
        for answer in written:
            if isinstance(answer, StoreUnavailable):
                raise answer
        return len(won)

    def _decide(self, ask: Ask, picks: Sequence[Entry]) -> list[tuple[Stored, Job]]:
        """Those that may be claimed as they are now, and as they are then."""
        unread = [entry.id for entry in picks if entry.stored is None]
        found = self._jobs.read_bare(unread) if unread else {}
        moves: list[tuple[Stored, Job]] = []
        for entry in picks:
            before = entry.stored or found.get(entry.id)
            if before is not None:
                with contextlib.suppress(Conflict):
                    moves.append((before, ask.claim(before.job)))
        return moves

    def _write(self, move: tuple[Stored, Job]) -> Stored | StoreUnavailable | None:
        try:
            return self._jobs.write(*move)
        except StoreUnavailable as error:
            return error
