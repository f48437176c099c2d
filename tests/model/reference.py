"""The reference model: a verb, a caller, a time, and what the contract answers to it."""

from collections.abc import Callable, Iterable

from tests.model.attempts import complete, fail, heartbeat, release
from tests.model.calls import Answer, Caller, Refusal, Request
from tests.model.producing import batch, cancel, enqueue, redrive, redrive_many
from tests.model.reading import attempts, get, health, list_jobs, stats, upkeep
from tests.model.working import claim
from tests.model.world import World

_ADMIN = {"admin"}
_PRODUCER = {"producer", *_ADMIN}
_WORKER = {"worker", *_ADMIN}
_ANY = _PRODUCER | _WORKER
VERBS: dict[str, tuple[set[str], Callable[[World, Caller, Request], Answer]]] = {
    "enqueue": (_PRODUCER, enqueue),
    "batch": (_PRODUCER, batch),
    "claim": (_WORKER, claim),
    "complete": (_WORKER, complete),
    "fail": (_WORKER, fail),
    "heartbeat": (_WORKER, heartbeat),
    "release": (_WORKER, release),
    "cancel": (_PRODUCER, cancel),
    "redrive": (_ADMIN, redrive),
    "redrive_many": (_ADMIN, redrive_many),
    "upkeep": (_ADMIN, upkeep),
    "get": (_ANY, get),
    "attempts": (_ANY, attempts),
    "list": (_ANY, list_jobs),
    "stats": (_WORKER, stats),
    "health": (_ANY, health),
}
READING = {"get", "attempts", "list", "stats", "health"}


def answer(world: World, request: Request, now: int, new_ids: Iterable[int]) -> Answer:
    """What the contract answers; `new_ids` are those that the product gave to new jobs."""
    world.now, world.new_ids, world.changed = now, iter(new_ids), set()
    caller = world.callers[request.key]
    roles, verb = VERBS[request.verb]
    if caller.role not in roles:
        return Refusal(403, "forbidden").answer
    try:
        return verb(world, caller, request)
    except Refusal as refusal:
        return refusal.answer
