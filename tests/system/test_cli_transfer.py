"""Jobs out of a queue and into one: export, import, and the many jobs of `enqueue TYPE -`."""

from pathlib import Path
from typing import Any

import pytest

from queuelog_core.client import NoAnswer, Request, Response
from tests.support.factories import FakeClock
from tests.support.http import Api
from tests.system.cli_scene import Here, json_lines

FIELDS = 22


def jobs(here: Here, key: str = "admin") -> list[Any]:
    return here.lines("jobs", "export", key=key)


def finish(api: Api, verb: str = "complete") -> Any:
    """The best due job after a report; a failed one is not tried again."""
    fields: dict[str, Any] = {"retryable": False, "error": "smtp down"} if verb == "fail" else {}
    return api.report(verb, api.claim(), **fields).json


def test_an_export_holds_every_field_of_every_job_the_oldest_first(here: Here, api: Api) -> None:
    made = [api.enqueue(payload={"n": n, "é": "\u2028\x9b"}) for n in range(3)]
    finish(api, "fail")

    exported = jobs(here)

    assert [job["id"] for job in exported] == [job["id"] for job in made]
    assert exported == [api.get(job) for job in made]
    assert [len(job) for job in exported] == [FIELDS] * 3
    assert exported[0]["error"] == "smtp down"


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (["--status", "completed"], [1]),
        (["--status", "pending", "--type", "pdf"], [2]),
        (["--priority", "high"], [3]),
        (["--producer", "blog"], [4]),
        (["--worker", "mailer"], [1]),
        (["--created-after", "2026-11-29T12:00:05Z"], [4]),
        (["--created-before", "2026-11-29T13:00:05+01:00"], [1, 2, 3]),
        (["--limit", "2"], [1, 2]),
        (["--json", "--limit", "1"], [1]),
    ],
)
def test_an_export_holds_what_the_options_mean(
    here: Here, api: Api, clock: FakeClock, asked: list[str], wanted: list[int]
) -> None:
    api.enqueue()
    finish(api)
    api.enqueue(job_type="pdf")
    api.enqueue(priority="high")
    clock.advance(5)
    api.enqueue("other-producer")

    assert [job["id"] for job in here.lines("jobs", "export", *asked)] == wanted


def test_an_import_begins_the_jobs_anew_and_doing_it_again_makes_none(
    here: Here, api: Api, clock: FakeClock, tmp_path: Path
) -> None:
    api.enqueue(payload={"n": 1}, priority="high", max_retries=7, delay_seconds=3600)
    api.enqueue("other-producer", "pdf")
    file = tmp_path / "jobs.jsonl"
    file.write_text(here("jobs", "export").stdout)
    clock.advance(60)

    first = here("jobs", "import", str(file))
    again = here.lines("jobs", "import", str(file), "--json")

    old, new = jobs(here)[:2], jobs(here)[2:]
    assert (first.stdout, first.stderr) == ("3\n4\n", "2 enqueued\n")
    assert again == [{"line": n, "id": n + 2, "replayed": True} for n in (1, 2)]
    for name in ("type", "payload", "priority", "max_retries"):
        assert [job[name] for job in new] == [job[name] for job in old]
    assert new[0]["run_at"] == old[0]["run_at"]
    assert new[1]["run_at"] == new[1]["created_at"] != old[1]["run_at"]
    assert {job["producer_id"] for job in new} == {"root"}


def test_an_import_tells_how_many_were_there_already(here: Here, api: Api) -> None:
    api.enqueue()
    first = here("jobs", "export").stdout
    here("jobs", "import", stdin=first)

    done = here("jobs", "import", stdin=first + json_lines({"type": "pdf"}))

    assert done.stderr == "1 enqueued, 1 there already\n"
    assert here("jobs", "import", stdin="\n\n").stderr == "no jobs\n"


@pytest.mark.parametrize("arrived", [False, True])
def test_an_import_that_broke_off_is_completed_by_the_next(
    here: Here, api: Api, arrived: bool
) -> None:
    lines = json_lines(*({"type": "email", "payload": {"n": n}} for n in range(250)))
    complete, batches = here.transport, 0

    def breaks_off(request: Request) -> Response:
        nonlocal batches
        batches += request.path == "/jobs/batch"
        if batches < 2:
            return complete(request)
        if arrived:
            complete(request)
        raise NoAnswer("ConnectionError")

    here.transport = breaks_off
    broken = here("jobs", "import", stdin=lines)
    here.transport = complete
    made = len(jobs(here))
    again = here("jobs", "import", stdin=lines)

    assert (broken.exit_code, len(broken.stdout.splitlines())) == (6, 100)
    assert made == (200 if arrived else 100)
    assert again.stderr == f"{250 - made} enqueued, {made} there already\n"
    assert sorted(job["payload"]["n"] for job in jobs(here)) == list(range(250))


def test_a_producers_own_keys_go_on_to_name_its_jobs(here: Here, api: Api) -> None:
    api.enqueue(idempotency_key="x")

    done = here("jobs", "import", key="producer", stdin=here("jobs", "export").stdout)

    assert (done.stdout, done.stderr) == ("1\n", "1 there already\n")
    assert len(jobs(here)) == 1
    elsewhere = json_lines({"type": "pdf", "idempotency_key": "y", "producer_id": "shop"})
    here("jobs", "import", key="producer", stdin=elsewhere)
    assert jobs(here)[1]["idempotency_key"] == "y"


def test_the_same_key_of_two_producers_is_two_jobs_of_an_admin(here: Here, api: Api) -> None:
    api.enqueue(idempotency_key="x")
    api.enqueue("other-producer", idempotency_key="x")
    exported = here("jobs", "export").stdout

    made = [here("jobs", "import", stdin=exported).stdout for _ in range(2)]

    assert made == ["3\n4\n"] * 2
    assert len(jobs(here)) == 4


def test_jobs_written_by_hand_are_as_many_as_there_are_lines_whenever_they_are_read(
    here: Here,
) -> None:
    by_hand = json_lines({"type": "email"}, {"type": "pdf"}, {"type": "email"})

    made = [here("jobs", "import", stdin=by_hand).stdout for _ in range(2)]

    assert made == ["1\n2\n3\n"] * 2
    assert [job["type"] for job in jobs(here)] == ["email", "pdf", "email"]


def test_a_job_written_by_hand_may_be_delayed(here: Here, clock: FakeClock) -> None:
    by_hand = json_lines(*({"type": "email", "delay_seconds": wait} for wait in (3600, 7200)))

    made = [here("jobs", "import", stdin=by_hand).stdout for _ in range(2)]

    assert made == ["1\n2\n"] * 2
    hours = [job["run_at"][11:13] for job in jobs(here)]
    assert hours == ["13", "14"]


def test_a_line_of_a_newer_version_is_imported(here: Here, api: Api) -> None:
    line = {**api.enqueue(), "tags": ["new"]}

    done = here("jobs", "import", stdin=json_lines(line))

    assert (done.exit_code, done.stdout) == (0, "2\n")


def test_finished_jobs_are_passed_over_unless_asked_for(here: Here, api: Api) -> None:
    for verb in ("complete", "fail"):
        api.enqueue()
        finish(api, verb)
    api.enqueue()
    api.claim()
    exported = here("jobs", "export").stdout

    done = here("jobs", "import", stdin=exported)
    all_of_them = here("jobs", "import", "--finished", stdin=exported)

    assert (done.stdout, done.stderr) == ("4\n", "1 enqueued, 2 passed over\n")
    assert (all_of_them.stdout, all_of_them.stderr) == (
        "5\n6\n4\n",
        "2 enqueued, 1 there already\n",
    )
    assert {job["status"] for job in jobs(here)[3:]} == {"pending"}


@pytest.mark.parametrize("owner", ["producer", "admin"])
def test_finished_jobs_become_new_ones_once_though_their_own_keys_hold_them(
    here: Here, api: Api, owner: str
) -> None:
    for key in ("x", "y"):
        api.enqueue(idempotency_key=key)
        finish(api, "fail")
    failed = here("jobs", "export", "--status", "failed", key="producer").stdout

    first, again = (here("jobs", "import", "--finished", key=owner, stdin=failed) for _ in range(2))

    assert (first.exit_code, first.stdout, first.stderr) == (0, "3\n4\n", "2 enqueued\n")
    assert (again.stdout, again.stderr) == ("3\n4\n", "2 there already\n")


def test_a_line_whose_key_is_empty_is_refused(here: Here) -> None:
    done = here("jobs", "import", stdin=json_lines({"type": "email", "idempotency_key": ""}))

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: line 1: ")
