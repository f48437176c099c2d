"""The callers of one front, and jobs in the states that tests begin with."""

from collections.abc import Iterable
from typing import Any

from tests.fronts.front import Answer, Front


class Scene:
    """Jobs are of the front's own type, so nobody but the test claims them."""

    def __init__(self, front: Front) -> None:
        self.front = front
        self.job_type = front.job_type

    def call(
        self,
        method: str,
        path: str,
        key: str | None = None,
        body: Any = None,
        headers: Iterable[tuple[str, str]] = (),
    ) -> Answer:
        return self.front.call(method, path, key, body, headers)

    def new(self, **fields: Any) -> dict[str, Any]:
        """What enqueues a job."""
        return {"type": self.job_type, **fields}

    def pending(self, **fields: Any) -> Any:
        answer = self.call("POST", "/jobs", "producer", self.new(**fields))
        assert answer.status == 201, answer
        return answer.json

    def claim(self, key: str = "worker", **fields: Any) -> Any:
        """The job that a worker gets."""
        body = {"types": [self.job_type], **fields}
        answer = self.call("POST", "/jobs/claim", key, body)
        assert answer.status == 200, answer
        return answer.json

    def running(self, **fields: Any) -> Any:
        """A job in the worker's hands, the only one that was due."""
        job = self.pending(**fields)
        claimed = self.claim()
        assert claimed["id"] == job["id"]
        return claimed

    def report(self, verb: str, job: Any, key: str = "worker", **fields: Any) -> Answer:
        """A report on the attempt that `job` names."""
        body = {"attempt": job["attempt"], **fields}
        return self.call("POST", f"/jobs/{job['id']}/{verb}", key, body)

    def failed(self) -> Any:
        answer = self.report("fail", self.running(), retryable=False)
        assert answer.status == 200, answer
        return answer.json

    def job(self, job: Any, key: str = "admin") -> Any:
        answer = self.call("GET", f"/jobs/{job['id']}", key)
        assert answer.status == 200, answer
        return answer.json

    def tidy_up(self) -> None:
        """Leave nothing that the next test would claim."""
        waiting = self.call(
            "GET", f"/jobs?status=pending&type={self.job_type}&limit=200", "admin"
        ).json
        for job in waiting["jobs"]:
            self.call("POST", f"/jobs/{job['id']}/cancel", "admin")
