"""Rows: every statement of the SQLite store as one whole literal, and jobs to and from their rows.

INDEXED BY is needed: with the indexes of the lists present the planner would walk the backlog.
The guarded update names only mutable columns, because a column in SET rewrites its indexes.
"""

from operator import attrgetter
from typing import Any

from queuelog_core.job import Job, Priority, Status
from queuelog_core.stores.history import decode_history, encode_history

INSERT_JOB = """
INSERT INTO jobs (type, priority, max_retries, idempotency_key, created_at, updated_at, run_at,
                  producer_id, fingerprint)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (producer_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
"""
INSERT_PAYLOAD = "INSERT INTO job_payloads (job_id, payload) VALUES (?, ?)"
INSERT_RESULT = "INSERT INTO job_results (job_id, result) VALUES (?, ?)"
INSERT_ERROR = "INSERT INTO attempt_errors (job_id, attempt, error) VALUES (?, ?, ?)"
DELETE_OLD_ERRORS = "DELETE FROM attempt_errors WHERE job_id = ? AND attempt < ?"

FIND_KEY = """
SELECT id FROM jobs INDEXED BY jobs_key WHERE producer_id = ? AND idempotency_key = ?
"""
GET_JOB = """
SELECT j.id, j.type, p.payload, j.priority, j.producer_id, j.max_retries, j.created_at,
       j.updated_at, j.run_at, j.idempotency_key, j.fingerprint, j.status, j.retry_count,
       j.release_count, j.attempt, j.claimed_at, j.worker_id, j.lease_expires_at, e.error,
       j.error_code, j.error_attempt, r.result, j.finished_at, j.cancel_requested_at,
       j.redriven_by, j.claim_key, j.history, j.version
FROM jobs AS j
JOIN job_payloads AS p ON p.job_id = j.id
LEFT JOIN job_results AS r ON r.job_id = j.id
LEFT JOIN attempt_errors AS e ON e.job_id = j.id AND e.attempt = j.error_attempt
WHERE j.id = ?
"""
UPDATE_JOB = """
UPDATE jobs SET status = ?, history = ?, retry_count = ?, release_count = ?, attempt = ?,
                claimed_at = ?, worker_id = ?, updated_at = ?, run_at = ?, lease_expires_at = ?,
                error_code = ?, error_attempt = ?, finished_at = ?, cancel_requested_at = ?,
                redriven_by = ?, claim_key = ?, version = ?
WHERE id = ? AND version = ?
"""

# One seek a lane; the sort is over their heads alone. CROSS JOIN keeps the planner from turning the
# walk around and starting with the jobs.
PEEK = """
SELECT EXISTS (
    SELECT 1 FROM json_each(:types) AS lane
    CROSS JOIN jobs AS j INDEXED BY jobs_lease
    ON j.status = 'running' AND j.type = lane.value AND j.lease_expires_at <= :now),
(   SELECT j.id FROM json_each(:types) AS lane
    CROSS JOIN json_each('[30, 20, 10, 0]') AS level
    CROSS JOIN jobs AS j ON j.id = (
        SELECT id FROM jobs INDEXED BY jobs_due
        WHERE status = 'pending' AND type = lane.value AND priority = level.value
          AND run_at <= :now
        ORDER BY run_at, id LIMIT 1)
    ORDER BY j.priority DESC, j.run_at, j.id LIMIT 1)
"""
DUE_HEADS = """
SELECT j.id FROM json_each(:types) AS lane
CROSS JOIN jobs AS j ON j.id IN (
    SELECT id FROM jobs INDEXED BY jobs_due
    WHERE status = 'pending' AND type = lane.value AND priority = :priority AND run_at <= :now
    ORDER BY run_at, id LIMIT :most)
ORDER BY j.run_at, j.id LIMIT :most
"""
OVERDUE = """
SELECT j.id FROM json_each(:types) AS lane
CROSS JOIN jobs AS j ON j.id IN (
    SELECT id FROM jobs INDEXED BY jobs_lease
    WHERE status = 'running' AND type = lane.value AND lease_expires_at <= :now
    ORDER BY lease_expires_at LIMIT :per_type)
LIMIT :most
"""
# The smallest run_at of each lane is its first row, due or not, so this is a seek a lane as well.
NEXT_DUE = """
SELECT min(at) FROM (
    SELECT (SELECT run_at FROM jobs INDEXED BY jobs_due
            WHERE status = 'pending' AND type = lane.value AND priority = level.value
            ORDER BY run_at LIMIT 1) AS at
    FROM json_each(:types) AS lane CROSS JOIN json_each('[30, 20, 10, 0]') AS level
    UNION ALL
    SELECT (SELECT lease_expires_at FROM jobs INDEXED BY jobs_lease
            WHERE status = 'running' AND type = lane.value ORDER BY lease_expires_at LIMIT 1)
    FROM json_each(:types) AS lane)
"""

COUNTERS = "SELECT type, name, n FROM counters"
ADD_LATE_REPORT = """
INSERT INTO counters (type, name, n) VALUES (?, 'late_reports', 1)
ON CONFLICT (type, name) DO UPDATE SET n = n + 1
"""
ANY_FINISHED = """
SELECT 1 FROM jobs INDEXED BY jobs_finished
WHERE status = ? AND finished_at IS NOT NULL AND finished_at < ? LIMIT 1
"""
PURGE = """
DELETE FROM jobs WHERE id IN (
    SELECT id FROM jobs INDEXED BY jobs_finished
    WHERE status = ? AND finished_at IS NOT NULL AND finished_at < ? ORDER BY finished_at LIMIT ?)
"""
FIND_CLAIMED = """
SELECT id FROM jobs INDEXED BY jobs_claim_key
WHERE claim_key = ? AND type IN (SELECT value FROM json_each(?))
ORDER BY priority DESC, run_at, id
"""
# The index holds all that the filter asks, so no job is read that does not pass.
FIND_DEAD = """
SELECT id FROM jobs INDEXED BY jobs_dead
WHERE status IN ('failed', 'cancelled') AND status = coalesce(:status, status)
  AND type = coalesce(:type, type)
  AND (:error_code IS NULL OR error_code = :error_code)
  AND created_at >= :created_after AND created_at < :created_before
ORDER BY created_at, id LIMIT :most
"""
READ_ERRORS = "SELECT attempt, error FROM attempt_errors WHERE job_id = ?"
# A real change of a real page: an update that changes nothing might never reach the disk.
PROBE = "UPDATE probes SET count = count + 1 WHERE id = 1"


_PRIORITY, _STATUS, _HISTORY = map(Job._fields.index, ("priority", "status", "history"))
_changing = attrgetter(
    *("retry_count", "release_count", "attempt", "claimed_at", "worker_id", "updated_at"),
    *("run_at", "lease_expires_at", "error_code", "error_attempt", "finished_at"),
    *("cancel_requested_at", "redriven_by", "claim_key", "version"),
)


def insert_values(job: Job) -> tuple[Any, ...]:
    """Parameters of INSERT_JOB."""
    return (
        job.type,
        job.priority,
        job.max_retries,
        job.idempotency_key,
        job.created_at,
        job.updated_at,
        job.run_at,
        job.producer_id,
        job.fingerprint,
    )


def update_values(job: Job, version: int) -> tuple[Any, ...]:
    """Parameters of UPDATE_JOB; `version` is the one that was read."""
    return (job.status.value, encode_history(job.history), *_changing(job), job.id, version)


def read_job(row: tuple[Any, ...]) -> Job:
    """A job from a row of GET_JOB, whose columns are in the order of the job's fields."""
    values = list(row)
    values[_PRIORITY] = Priority(row[_PRIORITY])
    values[_STATUS] = Status(row[_STATUS])
    values[_HISTORY] = decode_history(row[_HISTORY])
    return Job._make(values)
