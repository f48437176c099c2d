"""What serverless-offline's schedules did while the other tests ran."""

import json
import re
from datetime import datetime, timedelta
from typing import Any

from tests.fronts.conftest import Offline
from tests.support.servers import Server, eventually

DRAIN_SECONDS = 15.0
WITHIN_SECONDS = 60.0 + DRAIN_SECONDS


def the_readers_job(server: Server) -> Any:
    """The first job of test_offline.py, or one that is enqueued now."""
    keys = server.demo_keys()
    body = {
        "type": "email",
        "payload": {"to": "ada@example.com", "subject": "Hello"},
        "idempotency_key": "welcome-ada",
    }
    answer = server.call("POST", "/jobs", keys["PRODUCER_KEY"], body)
    assert answer.status in (200, 201), answer
    return answer.json


def seconds_after_the_mark(job: Any) -> float:
    """From the first full minute after it was enqueued until it was done."""
    made, done = (datetime.fromisoformat(job[name]) for name in ("created_at", "finished_at"))
    mark = made.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return (done - mark).total_seconds()


def test_a_job_is_run_by_the_next_minute(emulated_offline: Offline) -> None:
    key = emulated_offline.server.demo_keys()["ADMIN_KEY"]
    job = the_readers_job(emulated_offline.server)

    def ended() -> Any:
        found = emulated_offline.server.job(key, job["id"])
        return found if found["status"] in ("completed", "failed") else None

    done = eventually(ended, "the schedule ran the job", WITHIN_SECONDS)

    assert (done["status"], done["worker_id"], done["attempt"]) == ("completed", "demo-runner", 1)
    assert seconds_after_the_mark(done) <= DRAIN_SECONDS
    message = emulated_offline.server.folder / ".queuelog" / "outbox" / f"job-{job['id']}.eml"
    assert "To: ada@example.com" in message.read_text("utf-8")


def test_the_upkeep_wrote_its_numbers(emulated_offline: Offline) -> None:
    def numbers() -> Any:
        text = emulated_offline.server.out + emulated_offline.server.log
        return re.search(r'^\{"_aws".*\}', text, re.MULTILINE)

    line = json.loads(eventually(numbers, "the upkeep's numbers", WITHIN_SECONDS).group())

    assert (line["Stage"], line["UpkeepRuns"]) == ("offline", 1)
    assert line["DueJobs"] >= 0
