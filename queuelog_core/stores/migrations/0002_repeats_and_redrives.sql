-- The digest of the idempotent claim that a running job was given to; a repeat finds it by this.
ALTER TABLE jobs ADD COLUMN claim_key BLOB;
CREATE INDEX jobs_claim_key ON jobs (claim_key) WHERE claim_key IS NOT NULL;

-- A bulk redrive walks over dead jobs and reads none that its filter passes over.
DROP INDEX jobs_dead;
CREATE INDEX jobs_dead ON jobs (created_at, id, status, type, error_code)
    WHERE status IN ('failed', 'cancelled');

-- A purge of one status does not walk over the others.
DROP INDEX jobs_finished;
CREATE INDEX jobs_finished ON jobs (status, finished_at) WHERE finished_at IS NOT NULL;
