"""The rules of the machine in which workers report, in time, late, twice, wrongly."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.model import checks, scene
from tests.model.steering import Steering
from tests.model.world import SECOND

picks = st.integers(0, 31)
verbs = st.sampled_from(sorted(scene.REPORTS))
named = st.sampled_from([True] * 5 + [False])


class Reports(Steering):
    """Complete, fail, heartbeat and release."""

    @rule(pick=picks, body=st.sampled_from(scene.COMPLETES), named=named)
    def complete(self, pick: int, body: scene.Body, named: bool) -> None:
        self._report("complete", pick, body, named)

    @rule(pick=picks, body=st.sampled_from(scene.FAILS), named=named)
    def fail(self, pick: int, body: scene.Body, named: bool) -> None:
        self._report("fail", pick, body, named)

    @rule(pick=picks, body=st.sampled_from(scene.RELEASES), named=named)
    def release(self, pick: int, body: scene.Body, named: bool) -> None:
        self._report("release", pick, body, named)

    @rule(
        pick=picks,
        body=st.sampled_from(scene.HEARTBEATS),
        named=named,
        seconds=st.sampled_from([1, 0.5, 8, 20]),
    )
    def heartbeat(self, pick: int, body: scene.Body, named: bool, seconds: float) -> None:
        grant = self.live_grant(pick)
        job = self.trial.world.jobs[grant.job_id]
        longest = self.trial.world.types[job["type"]].max_runtime_seconds * SECOND
        if pick % 4 and job["lease_expires_at"] == job["claimed_at"] + longest:
            self.claim("mailer-1", {})
            grant = self.live_grant(0)
        self.trial.clock.advance(seconds)
        told = {"attempt": grant.attempt, **body} if named else body
        self.call("heartbeat", grant.key, grant.job_id, told)

    @rule(
        pick=picks, verb=verbs, ending=st.sampled_from(["", "settle", "cancel", "redrive", "claim"])
    )
    def report_after_the_lease(self, pick: int, verb: str, ending: str) -> None:
        """A worker that was away beyond its lease, and what became of the job by then."""
        grant = self.live_grant(pick)
        job = self.trial.world.jobs[grant.job_id]
        self.wait_until(job["lease_expires_at"] + pick * SECOND)
        if ending in ("settle", "redrive"):
            self.call("upkeep", "admin", body={"retention_seconds": scene.RETENTION_SECONDS})
        if ending in ("cancel", "redrive"):
            self.call("cancel", "admin", grant.job_id)
        if ending == "redrive":
            self.call("redrive", "admin", grant.job_id)
        if ending == "claim":
            self.call("claim", "worker", body={"types": [job["type"]]}, process="mailer-2")
        body = scene.REPORTS[verb][pick % len(scene.REPORTS[verb])]
        verb = "complete" if pick % 2 else verb
        body = body if verb == "fail" else scene.REPORTS[verb][0]
        self.call(verb, grant.key, grant.job_id, {"attempt": grant.attempt, **body})

    @rule(pick=picks, verb=verbs, ending=st.sampled_from(["", "", "claim", "upkeep"]))
    def report_though_cancelled(self, pick: int, verb: str, ending: str) -> None:
        """Cancel was asked: complete wins, all else ends in cancelled."""
        grant = self.live_grant(pick)
        job = self.trial.world.jobs[grant.job_id]
        self.call("cancel", "admin", grant.job_id)
        if ending:
            self.wait_until(job["lease_expires_at"] or 0)
        if ending == "claim":
            self.call("claim", "worker", body={"types": [job["type"]]}, process="mailer-2")
        if ending == "upkeep":
            self.call("upkeep", "admin", body={"retention_seconds": scene.RETENTION_SECONDS})
        self.call(verb, grant.key, grant.job_id, {"attempt": grant.attempt})

    @rule(pick=picks, verb=verbs)
    def report_an_old_attempt(self, pick: int, verb: str) -> None:
        """A process that knows nothing of what happened to its job since."""
        grant = self.any_grant(pick)
        body = scene.REPORTS[verb][pick % len(scene.REPORTS[verb])]
        self.call(verb, grant.key, grant.job_id, {"attempt": grant.attempt, **body})

    @rule(
        pick=picks,
        verb=verbs,
        wrong=st.sampled_from(["owner", "type", "role", "id", "attempt", "none", "body"]),
    )
    def report_wrongly(self, pick: int, verb: str, wrong: str) -> None:
        """Another's job, one that is not seen or not there, an attempt that never was."""
        grant = self.any_grant(pick)
        key, job_id = grant.key, grant.job_id
        body: scene.Body = {"attempt": grant.attempt}
        match wrong:
            case "owner":
                key = "other-worker" if key == "worker" else "worker"
            case "type":
                key = "pdf-worker"
            case "role":
                key = "producer"
            case "id":
                job_id = scene.ATTEMPT_MAX
            case "attempt":
                body = {"attempt": grant.attempt + 1 + pick}
            case "none":
                body = {}
            case "body":
                verb, body = "fail", scene.FAILS_REFUSED[pick % len(scene.FAILS_REFUSED)]
        self.call(verb, key, job_id, body)

    @rule(times=st.sampled_from([1, 1, 2, 2, 3, 3, 4, 21]), body=st.sampled_from(scene.RELEASES))
    def hand_around(self, times: int, body: scene.Body) -> None:
        """The same job claimed and released again and again: twenty times are free."""
        grant = self.live_grant(0)
        job = self.trial.world.jobs[grant.job_id]
        for _ in range(times):
            told = {"attempt": job["attempt"], **body}
            self.call("release", grant.key, grant.job_id, told)
            if job["status"] != "pending":
                return
            self.wait_until(job["run_at"])
            types = {"types": [job["type"]]}
            self.call("claim", grant.key, body=types, process=grant.process)
            if (job["status"], job["worker_id"]) != ("running", self._name(grant.key)):
                return

    @rule(back=st.sampled_from([1, 1, 1, 2, 3, 7]))
    def say_again(self, back: int) -> None:
        """The answer was lost, so the same call is made again."""
        story = self.trial.story
        if not story:
            self.claim("printer", {})
        first = story[-min(back, len(story))]
        again = self.trial.call(first.request, first.process)
        if back == 1 and first.at == self.trial.clock.now:
            checks.check_repeat(first.request, first.reply, again)

    def _report(self, verb: str, pick: int, body: scene.Body, named: bool) -> None:
        grant = self.live_grant(pick)
        told = {"attempt": grant.attempt, **body} if named else body
        self.call(verb, grant.key, grant.job_id, told)

    def _name(self, key: str) -> str:
        return scene.CALLERS[key].name
