"""V-06: two workers could read the same waiting job before either wrote; now eight processes that
ask one server at the same moment never share an attempt."""

import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.identity import Role
from tests.support.processes import FRESH, Fresh
from tests.support.servers import Answer, Server, call, make_key, serving

PROCESSES = 8
ROUNDS = 25
ANSWER_SECONDS = 60

Racer = Callable[[str, str, int, Any], list[Any]]


def run_all(race: Racer, url: str, keys: list[str]) -> list[list[Any]]:
    """What each of the processes got, one with each key; they wait for each other every round."""
    barrier = FRESH.Barrier(len(keys), timeout=ANSWER_SECONDS)
    results = FRESH.Queue()
    processes = [
        Fresh(target=_child, args=(race, url, key, number, barrier, results), daemon=True)
        for number, key in enumerate(keys)
    ]
    for process in processes:
        process.start()
    answers = [results.get(timeout=ANSWER_SECONDS) for _ in processes]
    for process in processes:
        process.join()
    failures = [answer for answer in answers if isinstance(answer, str)]
    assert not failures, failures[0]
    return answers


def _child(race: Racer, url: str, key: str, number: int, barrier: Any, results: Any) -> None:
    try:
        results.put(race(url, key, number, barrier))
    except Exception:
        barrier.abort()
        results.put(traceback.format_exc())


def ask(url: str, path: str, key: str, body: Any) -> Answer:
    """An answer; a busy store has done nothing, so it is asked again."""
    while True:
        answer = call(url, "POST", path, key, body)
        if answer.status != 503:
            return answer


def claim_one_by_one(url: str, key: str, number: int, barrier: Any) -> list[Any]:
    """In each round all ask at once for one job; what this process got, round by round."""
    got = []
    for round_number in range(ROUNDS):
        if number == 0:
            body = {"type": "email", "payload": {"round": round_number}}
            assert ask(url, "/jobs", key, body).status == 201
        barrier.wait()
        answer = ask(url, "/jobs/claim", key, {"worker_id": "worker-1"})
        assert answer.status in (200, 204), answer.text
        got.append(_facts(answer))
        barrier.wait()
    return got


def _facts(answer: Answer) -> Any:
    if answer.status == 204:
        return None
    job = answer.json
    return job["payload"]["round"], job["id"], job["attempt"], job["worker_id"]


def report_at_once(url: str, key: str, number: int, barrier: Any) -> list[Any]:
    """Half say complete, half say fail, all on the same attempt of each job."""
    got = []
    for job_id in range(1, ROUNDS + 1):
        verb = "complete" if (number + job_id) % 2 else "fail"
        body = {"attempt": 1} if verb == "complete" else {"attempt": 1, "retryable": False}
        barrier.wait()
        answer = ask(url, f"/jobs/{job_id}/{verb}", key, body)
        got.append((verb, answer.status, "Idempotent-Replayed" in answer.headers))
    return got


def keys_for(folder: Path, names: list[str]) -> list[str]:
    """A key each; all are admins, who may enqueue what they then claim."""
    made = {name: make_key(folder, name, Role.ADMIN) for name in dict.fromkeys(names)}
    return [made[name] for name in names]


def stored(server: Server, key: str) -> list[Any]:
    jobs: list[Any] = server.call("GET", "/jobs?limit=200&order=asc", key).json["jobs"]
    return jobs


@pytest.mark.parametrize(
    "names",
    [[f"worker-{number}" for number in range(PROCESSES)], ["worker-0"] * PROCESSES],
    ids=["eight identities", "one identity"],
)
def test_eight_processes_that_claim_one_job_at_once_have_one_winner(
    tmp_path: Path, names: list[str]
) -> None:
    keys = keys_for(tmp_path, names)
    with serving(tmp_path) as server:
        got = run_all(claim_one_by_one, server.url, keys)

        jobs = stored(server, keys[0])
    winners = [[facts for facts in of_round if facts] for of_round in zip(*got, strict=True)]
    assert [len(of_round) for of_round in winners] == [1] * ROUNDS
    assert [of_round[0][0] for of_round in winners] == list(range(ROUNDS))
    assert {(facts[1], facts[2], facts[3]) for (facts,) in winners} == {
        (job["id"], 1, job["worker_id"]) for job in jobs
    }
    assert {job["status"] for job in jobs} == {"running"}


def test_eight_processes_that_report_on_one_attempt_at_once_are_heard_once(
    tmp_path: Path,
) -> None:
    keys = keys_for(tmp_path, ["worker-0"] * PROCESSES)
    with serving(tmp_path) as server:
        for _ in range(ROUNDS):
            server.enqueue(keys[0], type="email")
            server.call("POST", "/jobs/claim", keys[0], {})

        got = run_all(report_at_once, server.url, keys)

        jobs = stored(server, keys[0])
    ended = {"complete": "completed", "fail": "failed"}
    for job, of_job in zip(jobs, zip(*got, strict=True), strict=True):
        applied = [verb for verb, status, replayed in of_job if status == 200 and not replayed]
        assert [ended[verb] for verb in applied] == [job["status"]]
        half = PROCESSES // 2
        assert Counter(status for _, status, _ in of_job) == {200: half, 409: half}
