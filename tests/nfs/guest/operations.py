"""The three operations whose every syscall is a place to die, and how other clients go on."""

from queuelog_core.job import Job
from queuelog_core.stores import Store
from tests.nfs.guest import ledger
from tests.nfs.guest.ledger import Entry
from tests.support.factories import NOON, pending_job
from tests.support.stores import TYPES, claims, complete, settle

VICTIM, OTHER = "victim", "mailer"
_PAYLOAD = '{"to":"' + "a" * 500 + '"}'


def enqueue(store: Store, key: str) -> Job:
    """The job of this key, the only one."""
    return store.insert(new_job(key))[0]


def new_job(key: str) -> Job:
    return pending_job(idempotency_key=key, payload=_PAYLOAD)


def claim(store: Store, name: str) -> Job | None:
    """The best due job; leases never run out, because this clock stands still."""
    jobs = store.claim(NOON, TYPES, 1, settle(NOON), claims(NOON, name)).jobs
    return jobs[0] if jobs else None


class Operation:
    """One enqueue, claim or complete: made ready, then performed by a victim and by others."""

    def __init__(self, verb: str, store: Store, key: str) -> None:
        self._verb = verb
        self._key = key
        self._job: Job | None = None
        self.entries: list[Entry] = []
        if verb != "enqueue":
            # One for the victim and one for whoever comes after it.
            made = store.insert_many([new_job(f"{key}-{number}") for number in (1, 2)])
            self.entries += [ledger.enqueued(job) for job, _ in made]
        if verb == "complete":
            self._job = claim(store, OTHER)
            assert self._job is not None
            self.entries.append(ledger.claimed(self._job))

    def perform(self, store: Store, name: str) -> Entry:
        """Do it, and say what is acknowledged then."""
        match self._verb:
            case "enqueue":
                return ledger.enqueued(enqueue(store, self._key))
            case "claim":
                job = claim(store, name)
                assert job is not None
                return ledger.claimed(job)
            case _:
                assert self._job is not None
                return ledger.completed(complete(store, self._job))
