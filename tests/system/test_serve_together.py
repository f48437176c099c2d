"""Servers that share a file, and the upkeep that any one of them does for all."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from queuelog_core.identity import Role
from tests.support.servers import Server, make_key, serving, starting


def claimed_for_a_second(server: Server, key: str) -> int:
    """A job whose worker is silent from now on."""
    server.enqueue(key, type="email")
    answer = server.call("POST", "/jobs/claim", key, {"lease_seconds": 1})
    assert answer.status == 200
    return int(answer.json["id"])


def test_the_upkeep_of_one_server_settles_silent_leases_for_all_on_its_file_and_no_other(
    tmp_path: Path,
) -> None:
    lonely = tmp_path / "lonely"
    key = make_key(lonely, "root", Role.ADMIN)
    with ExitStack() as stack:
        # The one without is started first, so its pass would have come before the other's.
        without = stack.enter_context(serving(lonely, "--no-upkeep"))
        left = claimed_for_a_second(without, key)
        first, second, shared_key = two_servers(stack, tmp_path, "--no-upkeep")
        silent = claimed_for_a_second(first, shared_key)

        settled = second.job_once(shared_key, silent, "pending")

        assert settled["error_code"] == "lease_expired"
        assert (settled["retry_count"], settled["worker_id"]) == (1, None)
        assert first.job(shared_key, silent) == settled
        assert without.job(key, left)["status"] == "running"
        assert '"event":"upkeep"' in second.log
        assert '"event":"upkeep"' not in first.log


def test_two_servers_on_one_file_are_one_queue(tmp_path: Path) -> None:
    with ExitStack() as stack:
        first, second, key = two_servers(stack, tmp_path)
        sent = {"type": "email", "payload": {"n": 1}, "idempotency_key": "once"}
        job = first.enqueue(key, **sent)

        again = second.call("POST", "/jobs", key, sent)
        claim = second.call("POST", "/jobs/claim", key, {})
        none = first.call("POST", "/jobs/claim", key, {})
        report = {"attempt": 1, "result": {"done": True}}
        done = first.call("POST", f"/jobs/{job['id']}/complete", key, report)
        replayed = second.call("POST", f"/jobs/{job['id']}/complete", key, report)

        assert (again.status, again.json) == (200, job)
        assert (claim.status, claim.json["id"], none.status) == (200, job["id"], 204)
        assert (done.status, replayed.status) == (200, 200)
        assert replayed.headers["Idempotent-Replayed"] == "true"
        assert second.job(key, job["id"]) == done.json
        assert numbers(first, key) == numbers(second, key)


def two_servers(stack: ExitStack, folder: Path, *options: str) -> tuple[Server, Server, str]:
    """Two servers on the file of the first, which alone gets the options."""
    key = make_key(folder / "first", "root", Role.ADMIN)
    first = stack.enter_context(serving(folder / "first", *options))
    second = stack.enter_context(serving(folder / "second", **files_of(folder / "first")))
    return first, second, key


def files_of(folder: Path) -> dict[str, str]:
    """The settings with which another server shares the store and the keys of this folder."""
    home = folder / ".queuelog"
    return {
        "QUEUELOG_STORE": f"sqlite:///{home}/queuelog.db",
        "QUEUELOG_KEYS": f"file:{home}/keys.json",
    }


def numbers(server: Server, key: str) -> Any:
    document = server.call("GET", "/stats", key).json
    assert document.pop("as_of")
    return document


def test_eight_servers_that_start_at_once_on_a_new_file_all_serve_it(tmp_path: Path) -> None:
    key = make_key(tmp_path / "first", "root", Role.ADMIN)
    shared = files_of(tmp_path / "first")
    with ExitStack() as stack:
        servers = [
            stack.enter_context(starting(tmp_path / str(number), **shared)) for number in range(8)
        ]

        jobs = [server.wait_until_ready().enqueue(key, type="pdf") for server in servers]

        assert sorted(job["id"] for job in jobs) == list(range(1, 9))
        assert numbers(servers[0], key)["types"]["pdf"]["pending"] == len(servers)
