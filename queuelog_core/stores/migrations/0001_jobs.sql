-- Instants are milliseconds since 1970 UTC. Payload, result and error texts lie in tables of their
-- own, each row written once, so that a transition rewrites only the small row in jobs.
CREATE TABLE jobs (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    type                TEXT    NOT NULL,
    priority            INTEGER NOT NULL CHECK (priority IN (0, 10, 20, 30)),
    status              TEXT    NOT NULL DEFAULT 'pending'
                        CHECK (status IN ('pending', 'running', 'completed', 'failed', 'cancelled')),
    retry_count         INTEGER NOT NULL DEFAULT 0,
    max_retries         INTEGER NOT NULL,
    idempotency_key     TEXT,
    claimed_at          INTEGER,
    worker_id           TEXT,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL,
    run_at              INTEGER NOT NULL,
    attempt             INTEGER NOT NULL DEFAULT 0,
    lease_expires_at    INTEGER,
    release_count       INTEGER NOT NULL DEFAULT 0,
    producer_id         TEXT    NOT NULL,
    error_code          TEXT,
    error_attempt       INTEGER,
    finished_at         INTEGER,
    cancel_requested_at INTEGER,
    redriven_by         TEXT,
    fingerprint         BLOB,
    version             INTEGER NOT NULL DEFAULT 1,
    history             TEXT    NOT NULL DEFAULT '[]',
    CHECK (retry_count BETWEEN 0 AND max_retries),
    CHECK ((status = 'running') = (lease_expires_at IS NOT NULL)),
    CHECK (status <> 'running' OR (worker_id IS NOT NULL AND claimed_at IS NOT NULL)),
    CHECK (status <> 'pending' OR (worker_id IS NULL AND claimed_at IS NULL)),
    CHECK ((status IN ('completed', 'failed', 'cancelled')) = (finished_at IS NOT NULL))
) STRICT;

CREATE TABLE job_payloads (job_id INTEGER PRIMARY KEY, payload TEXT NOT NULL) STRICT;
CREATE TABLE job_results (job_id INTEGER PRIMARY KEY, result TEXT NOT NULL) STRICT;
CREATE TABLE attempt_errors (
    job_id  INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    error   TEXT    NOT NULL,
    PRIMARY KEY (job_id, attempt)
) STRICT, WITHOUT ROWID;

-- One seek a lane: the first due job of a type and priority, oldest first.
CREATE INDEX jobs_due ON jobs (type, priority, run_at, id) WHERE status = 'pending';
CREATE INDEX jobs_lease ON jobs (type, lease_expires_at) WHERE status = 'running';
CREATE UNIQUE INDEX jobs_key ON jobs (producer_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX jobs_created ON jobs (created_at);
CREATE INDEX jobs_producer ON jobs (producer_id, created_at);
CREATE INDEX jobs_dead ON jobs (created_at) WHERE status IN ('failed', 'cancelled');
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;

-- Number of jobs by type and status, and of late reports by type, kept in the same transaction.
CREATE TABLE counters (
    type TEXT    NOT NULL,
    name TEXT    NOT NULL,
    n    INTEGER NOT NULL,
    PRIMARY KEY (type, name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER jobs_inserted AFTER INSERT ON jobs BEGIN
    INSERT INTO counters VALUES (new.type, new.status, 1)
        ON CONFLICT (type, name) DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER jobs_moved AFTER UPDATE OF status ON jobs WHEN old.status <> new.status BEGIN
    UPDATE counters SET n = n - 1 WHERE type = old.type AND name = old.status;
    INSERT INTO counters VALUES (new.type, new.status, 1)
        ON CONFLICT (type, name) DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER jobs_purged AFTER DELETE ON jobs BEGIN
    UPDATE counters SET n = n - 1 WHERE type = old.type AND name = old.status;
    DELETE FROM job_payloads WHERE job_id = old.id;
    DELETE FROM job_results WHERE job_id = old.id;
    DELETE FROM attempt_errors WHERE job_id = old.id;
END;

-- The row that a health probe updates.
CREATE TABLE probes (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL) STRICT;
INSERT INTO probes VALUES (1, 0);
