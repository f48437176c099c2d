"""What `queuelog db check` looks at: the file's own integrity, and what no constraint can hold."""

import sqlite3

from queuelog_core.stores.sqlite_schema import is_current, migrations, version

SHOWN_MAX = 5

RULES = {
    "jobs without a payload": """
        SELECT id FROM jobs WHERE id NOT IN (SELECT job_id FROM job_payloads)""",
    "payloads without a job": """
        SELECT job_id FROM job_payloads WHERE job_id NOT IN (SELECT id FROM jobs)""",
    "results of jobs that are not completed": """
        SELECT r.job_id FROM job_results AS r LEFT JOIN jobs AS j ON j.id = r.job_id
        WHERE j.status IS NOT 'completed'""",
    "error texts without a job": """
        SELECT DISTINCT job_id FROM attempt_errors WHERE job_id NOT IN (SELECT id FROM jobs)""",
    "jobs whose error text is missing": """
        SELECT j.id FROM jobs AS j
        LEFT JOIN attempt_errors AS e ON e.job_id = j.id AND e.attempt = j.error_attempt
        WHERE j.error_attempt IS NOT NULL AND e.job_id IS NULL""",
    "jobs whose attempt is not the newest of their history": """
        SELECT id FROM jobs
        WHERE attempt <> coalesce(json_extract(history, '$[#-1][0]'), 0)""",
    "jobs that run without an open attempt, or have one without running": """
        SELECT id FROM jobs
        WHERE (status = 'running')
           <> (attempt > 0 AND json_extract(history, '$[#-1][3]') IS NULL)""",
    "jobs that remember an idempotent claim without running": """
        SELECT id FROM jobs WHERE claim_key IS NOT NULL AND status <> 'running'""",
    "jobs whose id may be given out again": """
        SELECT id FROM jobs WHERE id > (SELECT seq FROM sqlite_sequence WHERE name = 'jobs')""",
    "jobs of types whose counters are wrong": """
        SELECT min(j.id) FROM jobs AS j
        LEFT JOIN counters AS c ON c.type = j.type AND c.name = j.status
        GROUP BY j.type, j.status HAVING count(*) IS NOT c.n""",
}
"""What is wrong, and the statement that finds the ids of such jobs."""

LEFT_OVER_COUNTERS = """
SELECT count(*) FROM counters AS c
WHERE c.name <> 'late_reports' AND c.n <> 0
  AND NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.type = c.type AND j.status = c.name)
"""


def find_faults(connection: sqlite3.Connection) -> list[str]:
    """One line for each thing that is wrong with the file; it reads one instant of it."""
    broken = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    if broken != ["ok"]:
        return [f"the file is damaged: {text}" for text in broken]
    if not is_current(connection):
        return [
            f"the file is of schema version {version(connection)}, this queuelog has "
            f"{len(migrations())}: start the server once"
        ]
    faults = []
    for what, statement in RULES.items():
        ids = [row[0] for row in connection.execute(statement)]
        if ids:
            shown = ", ".join(map(str, ids[:SHOWN_MAX])) + (", …" if len(ids) > SHOWN_MAX else "")
            faults.append(f"{len(ids)} {what}: {shown}")
    if left_over := connection.execute(LEFT_OVER_COUNTERS).fetchone()[0]:
        faults.append(f"{left_over} counters of types and statuses that no job has")
    return faults
