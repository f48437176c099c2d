"""What the OpenAPI document says in words: rules that no schema can tell."""

from queuelog_core.errors import StoreUnavailable
from queuelog_core.http.bodies import DOCUMENT_BYTES_MAX
from queuelog_core.http.strict_json import DEPTH_MAX
from queuelog_core.leases import POLL_SECONDS_MAX

NOTES = {
    "all": (
        "A background job queue over HTTP. Every verb may be repeated safely.\n\n"
        "Bodies are JSON objects in UTF-8, at most 1 MiB, nested at most "
        f"{DEPTH_MAX} levels, without duplicate keys; an empty body means {{}}; null for an "
        "optional field means absent. 5.0 is no integer; integers are kept exactly, other numbers "
        "are binary64. Times are RFC 3339 with Z or an offset; finer than milliseconds is rounded "
        "up.\n\n"
        "The first check that fails answers: route 404/405 (with Allow; a malformed id included), "
        "key 401/403, role 403, media type 415, size 413, JSON 400, schema 422, allowlist 422, "
        "caps 403, visibility 404 (409 on reports), replay, state 409, store 503. A request that "
        "waited too long for the server answers 503 right after its route. Errors are "
        "problem+json; every answer of this application carries X-Request-Id. What is before it "
        "(a gateway, a proxy, the server on a body over 10 MiB) answers in its own form."
    ),
    "enqueue": (
        "type must be on the allowlist. priority: medium if absent, or the key's cap if lower; "
        "labels in any case. max_retries: the type's if absent; N retries mean N + 1 runs. Give "
        "run_at or delay_seconds, at most a year ahead; a run_at in the past means now.\n\n"
        "An idempotency key lives per producer, as long as its job: until it is finished and then "
        "for the retention (30 days unless set otherwise). It covers those of type, payload, "
        "priority, max_retries, run_at and delay_seconds that were sent. The same request again "
        "answers 200 with the job as it is now. Another request with the key in the body answers "
        "200 with the first job and Idempotency-Payload-Mismatch; with the key in the header 422."
    ),
    "batch": (
        "Each item is judged and answered as by POST /jobs, in one transaction: status 201 or 200 "
        "with the id, else a status and the error. A bad item stops no other; what is wrong with "
        "the body as a whole (JSON, depth, size, the number of items) refuses all of it. Give each "
        "job an idempotency_key and the whole batch may be repeated; the header Idempotency-Key is "
        "refused here."
    ),
    "list_jobs": (
        "Newest first. Producers see their own jobs, workers those of types they may run, admins "
        "all. created_after includes its instant, created_before does not. A page may be short or "
        "empty while next_cursor is set; only null ends the list. A cursor belongs to its filter."
    ),
    "claim": (
        "Order: priority descending, then run_at, then id, among due jobs. types: those of the "
        "key if absent. lease_seconds: the type's if absent, at most its max_runtime_seconds. "
        "Leases that ran out are settled first. An empty queue answers 204; Retry-After is the "
        f"time until something is due, at most {POLL_SECONDS_MAX} seconds.\n\n"
        "With limit the answer is always 200: the jobs, maybe none, and next_due_in_seconds, when "
        "a job of these types is due or its lease ends, rounded up; null: nothing is pending or "
        "running, the types are drained.\n\n"
        "Idempotency-Key, per identity, key and body: a repeat gets those of its jobs that still "
        "run on the same attempt, leases unchanged, with Idempotent-Replayed; when there is none, "
        "it claims afresh. An empty answer is not remembered."
    ),
    "complete": (
        "attempt, from the claimed job, fences workers that share a key: always send it. The same "
        "report again answers 200 with Idempotent-Replayed. A completion that comes after the "
        "lease counts if nobody claimed or redrove the job since. result is kept exactly, at most "
        f"{DOCUMENT_BYTES_MAX} bytes."
    ),
    "fail": (
        "The job is pending again after its type's backoff while retries are left, else failed. "
        "retry_in_seconds replaces the backoff (0: at once, the job keeps its age); with "
        "retryable false it is refused. error is scrubbed of secrets over its first 16,384 bytes "
        "and cut to 1,024; only admins see it. error_code is a slug that all may see; "
        "lease_expired, release_limit and payload_lost are the server's own."
    ),
    "heartbeat": (
        "The lease then ends at the later of its present end and now + extend_seconds (the type's "
        "lease if absent), never later than the type's max_runtime_seconds after the claim; "
        "lease_seconds_remaining is rounded down. When that time is over: deadline-exceeded. On "
        "any 409 stop working on the job."
    ),
    "release": (
        "The job is pending again without a retry spent; delay_seconds puts it off, without it the "
        "job keeps its place. Twenty releases are free, the next is a failure with error_code "
        "release_limit. When cancel was asked, the job ends as cancelled."
    ),
    "attempts": (
        "Oldest first. outcome is null while the attempt runs; error is null to all but admins. "
        "dropped tells how many older attempts are gone."
    ),
    "cancel": (
        "200: the job is cancelled. 202: it runs, and its worker learns of it by heartbeat; "
        "complete still wins, fail, release and the end of the lease then end in cancelled. A "
        "repeat answers alike and changes nothing. A completed or failed job is 409."
    ),
    "redrive": (
        "The job gets its whole retry budget anew and is due at once; attempt, history and the "
        "error are kept, and its last worker can no longer complete it. The same admin's repeat, "
        "while the job is pending and unclaimed, answers 200 with Idempotent-Replayed."
    ),
    "redrive_many": (
        "Oldest first, at most limit jobs: repeat until more is false. filter needs a status, "
        "failed or cancelled; an empty filter means both and needs all: true. matched is counted "
        "up to limit; redriven leaves out jobs that somebody else was faster with; dry_run changes "
        "nothing. created_after includes its instant, created_before does not."
    ),
    "stats": (
        "due, delayed and expired_leases are counted to 1,000 per type and priority; capped says "
        "that a lane holds more. Workers see the types that they may run."
    ),
    "health": (
        "The probe is a committed one-row update, at most one in ten seconds a process; others "
        "get the last answer with its age. A store that is busy for a second counts as "
        f"unavailable; Retry-After is {StoreUnavailable.retry_after_seconds}."
    ),
}
