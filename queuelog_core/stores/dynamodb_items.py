"""Items: keys, and jobs to and from them. Names are short, since each write is billed by the KiB.

    J#<id>    M                     the job: small, rewritten by each transition
    J#<id>    P#… R#… E#…           a large payload, a large result, error texts: each written once
    I#<hash>  I                     which job an idempotency key names
    C#<hash>  C                     which jobs an idempotent claim was given
    S#<type>  S                     what was counted for a type
    T         T                     the types that ever had a job, and the most shards ever used

No text of a user enters a key. In keys, instants are 13 digits of milliseconds and ids 16.
"""

import hashlib
import zlib
from collections.abc import Mapping
from typing import Any

from queuelog_core.documents import content_digest
from queuelog_core.job import Job, Priority, Status
from queuelog_core.stores.dynamodb_client import Item, Value
from queuelog_core.stores.dynamodb_table import Key
from queuelog_core.stores.history import decode_history, encode_history

INLINE_BYTES_MAX = 512
_INSTANT_MAX, _ID_MAX = 10**13 - 1, 10**16 - 1
_ID_DIGITS = 16

_NAMES = {
    "type": "ty",
    "priority": "pr",
    "producer_id": "pd",
    "max_retries": "mr",
    "created_at": "ca",
    "updated_at": "up",
    "run_at": "ra",
    "idempotency_key": "ik",
    "fingerprint": "fp",
    "status": "st",
    "retry_count": "rc",
    "release_count": "rl",
    "attempt": "att",
    "claimed_at": "cl",
    "worker_id": "w",
    "lease_expires_at": "lx",
    "error_code": "ec",
    "error_attempt": "ea",
    "finished_at": "fa",
    "cancel_requested_at": "cr",
    "redriven_by": "rd",
    "claim_key": "ck",
    "version": "v",
}
"""Attribute of each field that stands in the job's own item as it is."""
EXPIRES = "x"
"""When DynamoDB may delete an item by itself, in seconds since 1970."""
REWRITTEN = frozenset({*_NAMES.values(), "hi", "qp", "qs", EXPIRES})
"""All that a transition may change; the rest stays as it is."""
_ZERO_UNLESS_TOLD = ("retry_count", "release_count", "attempt")
SIDES = {"payload": ("pl", "pb"), "result": ("rs", "rb"), "error": (None, "eb")}
"""Where a text is: in an attribute of the job's own item, or in the item whose sort key the other
attribute names."""
TEXT = "tx"


def job_key(job_id: int) -> Key:
    """Where a job is."""
    return f"J#{job_id}", "M"


def id_of(item: Item) -> int:
    """The id of the job whose item this is."""
    return int(str(item["pk"])[2:])


def idempotency_item(job: Job) -> Item:
    """What says that the job's key names it."""
    # A list is hashed, never a joined string: "a#b" and "c" must not meet "a" and "b#c".
    digest = content_digest([job.producer_id, job.idempotency_key]).hex()
    return {"pk": f"I#{digest}", "sk": "I", "jid": job.id}


def shard_of(job_id: int, shards: int) -> int:
    """Which part of a lane or list a job belongs to."""
    return zlib.crc32(str(job_id).encode()) % shards


def pending_lane(job_type: str, priority: int, shard: int) -> str:
    """The partition of pending jobs, in the order of run_at and id."""
    return f"Q#{job_type}#{priority:02d}#{shard}"


def running_lane(job_type: str, shard: int) -> str:
    """The partition of running jobs, in the order of the ends of their leases."""
    return f"R#{job_type}#{shard}"


def dead_lane(job_type: str, shard: int) -> str:
    """The partition of failed and cancelled jobs, in the order of creation."""
    return f"F#{job_type}#{shard}"


def list_lane(shard: int) -> str:
    """The partition of all jobs, in the order of creation."""
    return f"L#{shard}"


def instant(at: int) -> str:
    """What all places of an instant and of later ones are above."""
    return f"{max(0, min(at, _INSTANT_MAX)):013d}"


def place(at: int, job_id: int) -> str:
    """A sort key: the order is by instant, then by id."""
    return f"{instant(at)}#{max(0, min(job_id, _ID_MAX)):0{_ID_DIGITS}d}"


def after(at: int) -> str:
    """What all places of an instant are below, and those of later ones above."""
    return f"{instant(at)}$"


def before(at: int, job_id: int) -> str:
    """What all places before this one are below."""
    return place(at, job_id - 1) if job_id > 0 else instant(at)


def read_place(text: str) -> tuple[int, int]:
    """Instant and id of a place."""
    at, _, job_id = text.partition("#")
    return int(at), int(job_id)


def encode_job(job: Job, shards: int) -> dict[str, Value]:
    """The job's own item, without its texts."""
    pk, sk = job_key(job.id)
    item: dict[str, Value] = {
        "pk": pk,
        "sk": sk,
        "lp": list_lane(shard_of(job.id, shards)),
        "ls": place(job.created_at, job.id),
    }
    for field, name in _NAMES.items():
        value = getattr(job, field)
        if value is not None and not (value == 0 and field in _ZERO_UNLESS_TOLD):
            item[name] = int(value) if field == "priority" else value
    item["st"] = job.status.value
    if job.history:
        item["hi"] = encode_history(job.history)
    item.update(_work(job, shards))
    return item


def _work(job: Job, shards: int) -> Mapping[str, Value]:
    shard = shard_of(job.id, shards)
    match job.status:
        case Status.PENDING:
            lane, at = pending_lane(job.type, job.priority, shard), job.run_at
        case Status.RUNNING:
            assert job.lease_expires_at is not None
            lane, at = running_lane(job.type, shard), job.lease_expires_at
        case Status.FAILED | Status.CANCELLED:
            lane, at = dead_lane(job.type, shard), job.created_at
        case Status.COMPLETED:
            return {}
    return {"qp": lane, "qs": place(at, job.id)}


def decode_job(item: Item, texts: Mapping[str, str]) -> Job:
    """A job from its own item and the texts beside it by sort key. Raises KeyError when its payload
    or result is not there: it was purged meanwhile."""
    fields: dict[str, Any] = {field: item.get(name) for field, name in _NAMES.items()}
    fields |= {field: fields[field] or 0 for field in _ZERO_UNLESS_TOLD}
    for field, (inline, beside) in SIDES.items():
        fields[field] = item.get(inline) if inline else None
        if fields[field] is None and beside in item:
            key = str(item[beside])
            # A list may read the item of a moment ago; that error's text may have gone since.
            fields[field] = texts.get(key) if field == "error" else texts[key]
    fields["priority"] = Priority(fields["priority"])
    fields["status"] = Status(fields["status"])
    return Job(
        **fields, id=id_of(item), history=decode_history(str(item["hi"])) if "hi" in item else ()
    )


def beside(item: Item) -> list[str]:
    """Sort keys of the texts that a job's own item names."""
    return [str(item[name]) for _, name in SIDES.values() if name in item]


def place_text(job_id: int, field: str, text: str) -> tuple[Mapping[str, Value], Item | None]:
    """The attributes of the job's own item that hold a text or tell where it is; and the item
    beside it, if it needs one."""
    inline, beside = SIDES[field]
    if inline and fits_inline(text):
        return {inline: text}, None
    item = text_item(job_id, field, text)
    return {beside: item["sk"]}, item


def errors_of(job: Job, texts: Mapping[str, str]) -> dict[int, str]:
    """The texts of a job's failures by attempt, from all texts beside it by sort key."""
    named = {entry.attempt: error_key(entry.attempt, entry.report) for entry in job.history}
    errors = {attempt: texts[key] for attempt, key in named.items() if key in texts}
    if job.error is not None and job.error_attempt is not None:
        errors[job.error_attempt] = job.error
    return errors


def text_item(job_id: int, field: str, text: str) -> Item:
    """A text beside a job. Its key follows from its content: of two writers none gets the text of
    the other."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]
    return {"pk": job_key(job_id)[0], "sk": f"{field[0].upper()}#{digest}", TEXT: text}


def error_item(job: Job) -> Item:
    """The text of a job's newest failure; its key names attempt and report."""
    assert job.error is not None
    entry = job.history[-1]
    return {
        "pk": job_key(job.id)[0],
        "sk": error_key(entry.attempt, entry.report),
        TEXT: job.error,
    }


def error_key(attempt: int, report: str | None) -> str:
    """The sort key of the text of a failure."""
    return f"E#{attempt:010d}#{report}"


def fits_inline(text: str) -> bool:
    """Whether a text is small enough to be rewritten with each transition."""
    return len(text.encode()) <= INLINE_BYTES_MAX
