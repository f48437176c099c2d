"""What holds after any sequence of actions, by two workers and clocks that differ."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from queuelog_core import transitions
from queuelog_core.errors import Conflict
from queuelog_core.job import Job, Outcome, Status
from queuelog_core.reports import Report, Verb
from tests.support.factories import LEASE, pending_job, report, tell

CLOCK_AHEAD_MAX = 300_000
HISTORY_MAX = 10
LONGEST = 3 * LEASE
# print_blob: a failure prints the line that repeats it.
many = settings(max_examples=100, deadline=None, print_blob=True)


@dataclass(frozen=True, slots=True)
class Step:
    """One action. `clock` counts from the job's last change, negative on a host that is behind;
    `back` is how many attempts ago the report's own one was, None when it names none."""

    clock: int
    action: str
    name: str
    back: int | None
    words: str
    delay: int
    retryable: bool


# The weights keep jobs moving: evenly drawn, most sequences end after one claim. A step is but two
# draws, which take longer than all the rest.
FORMS = list(
    product(
        ["claim"] * 3
        + ["expire", "fail", "release", "redrive"] * 2
        + ["complete"] * 2
        + ["heartbeat", "cancel", "lose"],
        ["mailer"] * 4 + ["printer"],
        [0] * 6 + [1, 2, 10, None],
        ["these", "these", "those"],
        [0, 0, 1, LEASE],
        [True] * 4 + [False],
    )
)
clocks = st.one_of(st.integers(0, 100_000), st.integers(-CLOCK_AHEAD_MAX - 100_000, 2 * LEASE))
steps = st.lists(
    st.builds(lambda clock, form: Step(clock, *form), clocks, st.sampled_from(FORMS)),
    min_size=15,
    max_size=45,
)


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """A pending job with some released attempts behind it."""
    job = pending_job(id=1, max_retries=draw(st.integers(0, 4)))
    for attempt in range(1, draw(st.sampled_from([0, 0, 3, 9, 12])) + 1):
        claimed = transitions.claim(job, job.updated_at, "mailer", LEASE)
        said = report(Verb.RELEASE, attempt, digest="release these")
        job = tell(claimed, said, claimed.updated_at + 1)
    return job


def act(job: Job, step: Step, now: int) -> Job:
    match step.action:
        case "claim":
            return transitions.claim(job, now, step.name, LEASE)
        case "expire":
            return transitions.expire(job, now, step.delay)
        case "lose":
            return transitions.lose(job, now, job.attempt)
        case "cancel":
            return transitions.cancel(job, now)
        case "redrive":
            return transitions.redrive(job, now, step.name)
    attempt = None if step.back is None else job.attempt - step.back
    verb = Verb(step.action)
    said = Report(verb=verb, worker_id=step.name, attempt=attempt, digest=f"{verb} {step.words}")
    match verb:
        case Verb.COMPLETE:
            return transitions.complete(job, now, said, "1")
        case Verb.FAIL:
            return transitions.fail(job, now, said, delay=step.delay, retryable=step.retryable)
        case Verb.HEARTBEAT:
            return transitions.heartbeat(job, now, said, LEASE, LONGEST)
        case Verb.RELEASE:
            return transitions.release(job, now, said, delay=step.delay, backoff=0)


def walk(job: Job, taken: list[Step]) -> Iterator[tuple[Step, int, Job, Job]]:
    """Every action that was not refused: the step, its clock, the job before and after."""
    for step in taken:
        now = job.updated_at + step.clock
        if step.action == "claim":
            now = max(now, job.run_at)
        elif step.action == "expire":
            now += LEASE
        try:
            after = act(job, step, now)
        except Conflict:
            continue
        yield step, now, job, after
        job = after


@many
@given(jobs(), steps)
def test_the_retry_budget_is_never_overdrawn(job: Job, taken: list[Step]) -> None:
    for _, _, _, after in walk(job, taken):
        assert 0 <= after.retry_count <= after.max_retries


@many
@given(jobs(), steps)
def test_the_attempt_is_the_number_of_the_newest_entry_in_the_history(
    job: Job, taken: list[Step]
) -> None:
    for _, _, before, after in walk(job, taken):
        assert after.attempt == (after.history[-1].attempt if after.history else 0)
        assert after.attempt - before.attempt in (0, 1)


@many
@given(jobs(), steps)
def test_the_history_holds_the_newest_ten_attempts_in_ascending_order(
    job: Job, taken: list[Step]
) -> None:
    for _, _, _, after in walk(job, taken):
        numbers = [entry.attempt for entry in after.history]
        first = max(1, after.attempt - HISTORY_MAX + 1)
        assert numbers == list(range(first, after.attempt + 1))


@many
@given(jobs(), steps)
def test_a_job_is_completed_exactly_when_one_attempt_completed_it(
    job: Job, taken: list[Step]
) -> None:
    for _, _, _, after in walk(job, taken):
        completed = [entry.outcome for entry in after.history].count(Outcome.COMPLETED)
        assert completed == (after.status is Status.COMPLETED)


@many
@given(jobs(), steps)
def test_a_job_has_a_lease_and_an_open_attempt_exactly_while_it_runs(
    job: Job, taken: list[Step]
) -> None:
    for _, _, _, after in walk(job, taken):
        runs = after.status is Status.RUNNING
        is_open = bool(after.history) and after.history[-1].outcome is None
        assert (after.lease_expires_at is not None) == runs == is_open


@many
@given(jobs(), steps)
def test_a_running_job_has_an_owner_and_a_pending_one_has_none(job: Job, taken: list[Step]) -> None:
    for _, _, _, after in walk(job, taken):
        owned = after.worker_id is not None and after.claimed_at is not None
        if after.status is Status.RUNNING:
            assert owned
        if after.status is Status.PENDING:
            assert (after.worker_id, after.claimed_at) == (None, None)


@many
@given(jobs(), steps)
def test_a_terminal_job_changes_only_by_redrive_or_one_late_completion(
    job: Job, taken: list[Step]
) -> None:
    for step, _, before, after in walk(job, taken):
        if after is before:
            continue
        if before.status is Status.COMPLETED:
            raise AssertionError(f"{step.action} changed a completed job")
        if before.status in (Status.FAILED, Status.CANCELLED):
            assert (step.action, after.status) in [
                ("redrive", Status.PENDING),
                ("complete", Status.COMPLETED),
            ]


@many
@given(jobs(), steps)
def test_a_job_is_finished_exactly_while_it_is_terminal(job: Job, taken: list[Step]) -> None:
    for _, _, _, after in walk(job, taken):
        is_terminal = after.status not in (Status.PENDING, Status.RUNNING)
        assert (after.finished_at is not None) == is_terminal


@many
@given(jobs(), steps)
def test_the_version_grows_by_one_with_every_change(job: Job, taken: list[Step]) -> None:
    for _, _, before, after in walk(job, taken):
        assert after.version == before.version + (after != before)


@many
@given(jobs(), steps)
def test_an_action_that_changes_nothing_returns_the_same_object(
    job: Job, taken: list[Step]
) -> None:
    for _, _, before, after in walk(job, taken):
        assert (after is before) == (after == before)


@many
@given(jobs(), steps)
def test_times_never_run_back_under_a_clock_at_most_five_minutes_behind(
    job: Job, taken: list[Step]
) -> None:
    for _, now, before, after in walk(job, taken):
        if before.updated_at - now <= CLOCK_AHEAD_MAX:
            assert after.updated_at >= before.updated_at


@many
@given(jobs(), steps)
def test_a_report_that_names_another_attempt_changes_nothing(job: Job, taken: list[Step]) -> None:
    for step, _, before, after in walk(job, taken):
        if step.action in list(Verb) and step.back not in (0, None):
            assert after is before
