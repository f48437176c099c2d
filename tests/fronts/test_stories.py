"""What happens to a job from its first request to its last, on every front."""

from typing import Any

from tests.fronts.front import Answer
from tests.fronts.scene import Scene


def statuses(*answers: Answer) -> list[int]:
    return [answer.status for answer in answers]


def is_replayed(answer: Answer) -> bool:
    return answer.status == 200 and answer.headers.get("idempotent-replayed") == "true"


def history(scene: Scene, job: Any) -> list[tuple[int, str | None]]:
    found = scene.call("GET", f"/jobs/{job['id']}/attempts", "admin").json["attempts"]
    return sorted((attempt["attempt"], attempt["outcome"]) for attempt in found)


def test_a_job_is_enqueued_claimed_kept_alive_and_completed(scene: Scene) -> None:
    payload = {"to": "ada@example.com", "z": [1, 2.5, None, True], "a": "é\u0000\u2028😀"}
    made = scene.call("POST", "/jobs", "producer", scene.new(payload=payload, priority="HIGH"))
    job = made.json
    claimed = scene.claim(lease_seconds=30)
    kept = scene.report("heartbeat", claimed, extend_seconds=120)
    done = scene.report("complete", claimed, result=["sent", {"n": 1}])
    read = scene.job(job, "producer")

    assert statuses(made, kept, done) == [201, 200, 200]
    assert made.headers["location"] == f"/jobs/{job['id']}"
    assert (claimed["id"], claimed["attempt"], claimed["worker_id"]) == (job["id"], 1, "worker")
    assert list(claimed["payload"].items()) == list(payload.items())
    assert 100 < kept.json["lease_seconds_remaining"] <= 120
    assert kept.json["lease_expires_at"] > claimed["lease_expires_at"]
    assert (read["status"], read["result"]) == ("completed", ["sent", {"n": 1}])
    assert read["priority"] == "high"
    assert history(scene, job) == [(1, "completed")]


def test_a_failed_job_runs_again_until_it_fails_for_good_and_is_redriven(scene: Scene) -> None:
    job = scene.pending(max_retries=1)
    again = scene.report("fail", scene.claim(), error="password=hunter2", retry_in_seconds=0)
    second = scene.claim()
    dead = scene.report("fail", second, error="out of paper", error_code="no_paper")
    seen = scene.job(job)
    redriven = scene.call("POST", f"/jobs/{job['id']}/redrive", "admin")
    third = scene.claim()

    assert [answer.json["status"] for answer in (again, dead)] == ["pending", "failed"]
    assert (seen["error"], seen["error_code"]) == ("out of paper", "no_paper")
    assert scene.job(job, "producer")["error"] is None
    assert (redriven.status, redriven.json["retry_count"]) == (200, 0)
    assert [second["attempt"], third["attempt"]] == [2, 3]
    assert scene.report("complete", third).status == 200
    assert "hunter2" not in scene.call("GET", f"/jobs/{job['id']}/attempts", "admin").body.decode()


def test_a_released_job_spends_no_retry_and_its_old_attempt_is_fenced(scene: Scene) -> None:
    first = scene.running()
    released = scene.report("release", first)
    second = scene.claim()
    late = scene.report("heartbeat", first)

    assert (released.json["status"], released.json["retry_count"]) == ("pending", 0)
    assert (second["id"], second["attempt"]) == (first["id"], 2)
    assert (late.status, late.json["code"]) == (409, "already-reported")
    assert scene.report("complete", second).status == 200


def test_a_running_job_that_is_cancelled_ends_when_its_worker_gives_it_up(scene: Scene) -> None:
    job = scene.running()
    asked = scene.call("POST", f"/jobs/{job['id']}/cancel", "producer")
    told = scene.report("heartbeat", job)
    ended = scene.report("release", job)
    again = scene.call("POST", f"/jobs/{job['id']}/cancel", "producer")

    assert statuses(asked, told, ended, again) == [202, 200, 200, 200]
    assert told.json["cancel_requested"] is True
    assert ended.json["status"] == again.json["status"] == "cancelled"


def test_a_batch_says_for_each_job_what_became_of_it_and_may_be_repeated(scene: Scene) -> None:
    known = scene.pending(idempotency_key=f"known-{scene.front.name}")
    jobs = [
        scene.new(idempotency_key=f"known-{scene.front.name}"),
        scene.new(idempotency_key=f"fresh-{scene.front.name}"),
        {"type": "fax"},
    ]

    first, again = (
        scene.call("POST", "/jobs/batch", "producer", {"jobs": jobs}).json["results"]
        for _ in range(2)
    )

    assert [item["status"] for item in first] == [200, 201, 422]
    assert [item["status"] for item in again] == [200, 200, 422]
    assert first[0]["id"] == again[0]["id"] == known["id"]
    assert first[1]["id"] == again[1]["id"]


def test_pages_of_a_list_hold_every_job_once_newest_first(scene: Scene) -> None:
    made = [scene.pending(payload={"n": n})["id"] for n in range(5)]
    query = f"/jobs?limit=2&status=pending&type={scene.job_type}"

    found: list[int] = []
    cursor = ""
    for _ in range(4):
        page = scene.call("GET", query + cursor, "producer").json
        found += [job["id"] for job in page["jobs"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    other = scene.call("GET", f"/jobs?limit=3{cursor}", "producer")

    assert found == made[::-1]
    assert (other.status, other.json["code"]) == (422, "validation-failed")


def test_every_repeat_is_answered_as_the_first_time_and_changes_nothing(scene: Scene) -> None:
    by_header = [("Idempotency-Key", f"once-{scene.front.name}-é".encode().decode("latin-1"))]
    claim_key = [("Idempotency-Key", f"claim-{scene.front.name}")]
    wanted = {"types": [scene.job_type]}
    made, repeated = (
        scene.call("POST", "/jobs", "producer", scene.new(), by_header) for _ in range(2)
    )
    other = scene.call("POST", "/jobs", "producer", scene.new(max_retries=9), by_header)
    claimed, reclaimed = (
        scene.call("POST", "/jobs/claim", "worker", wanted, claim_key) for _ in range(2)
    )
    done, redone = (scene.report("complete", claimed.json, result={"n": 1}) for _ in range(2))
    contrary = scene.report("fail", claimed.json)

    assert statuses(made, repeated, claimed, reclaimed) == [201, 200, 200, 200]
    assert [is_replayed(answer) for answer in (repeated, reclaimed, redone)] == [True] * 3
    assert not is_replayed(done)
    assert (other.status, other.json["code"]) == (422, "idempotency-key-reused")
    assert made.json["id"] == repeated.json["id"] == claimed.json["id"]
    assert claimed.json == reclaimed.json
    assert (contrary.status, contrary.json["code"]) == (409, "already-reported")
    assert history(scene, made.json) == [(1, "completed")]


def test_failed_jobs_are_counted_and_then_redriven_by_a_filter(scene: Scene) -> None:
    failed = scene.failed()
    picked = {"status": "failed", "type": scene.job_type, "created_after": failed["created_at"]}
    asked = {"filter": picked, "limit": 200}

    counted = scene.call("POST", "/jobs/redrive", "admin", {**asked, "dry_run": True}).json
    redriven = scene.call("POST", "/jobs/redrive", "admin", asked).json

    assert counted == {"matched": counted["matched"], "redriven": 0, "more": False}
    assert redriven == {
        "matched": counted["matched"],
        "redriven": counted["matched"],
        "more": False,
    }
    assert scene.job(failed)["status"] == "pending"


def test_a_claim_with_a_limit_says_when_nothing_is_left(scene: Scene) -> None:
    wanted = {"types": [scene.job_type], "limit": 25}
    made = [scene.pending()["id"] for _ in range(2)]

    both = scene.call("POST", "/jobs/claim", "worker", wanted).json
    for job in both["jobs"]:
        scene.report("complete", job)
    nothing = scene.call("POST", "/jobs/claim", "worker", {"types": [scene.job_type]})

    assert [job["id"] for job in both["jobs"]] == made
    assert nothing.status == 204
    assert 1 <= int(nothing.headers["retry-after"]) <= 20
    assert nothing.body == b""
