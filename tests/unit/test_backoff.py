"""Backoff: never earlier than asked, never over the cap, and no number that grows for ever."""

from hypothesis import given, settings
from hypothesis import strategies as st

from queuelog_core.job_types import BACKOFF_SECONDS_MAX, Backoff, BackoffKind

print_blob = settings(print_blob=True, deadline=None)
shares = st.floats(0, 1, exclude_max=True)
retries = st.one_of(st.integers(1, 60), st.integers(1, 10**6))


@st.composite
def backoffs(draw: st.DrawFn, kind: BackoffKind | None = None) -> Backoff:
    base = draw(st.one_of(st.integers(0, 120), st.integers(0, BACKOFF_SECONDS_MAX)))
    return Backoff(
        kind=kind or draw(st.sampled_from(BackoffKind)),
        base_seconds=base,
        max_seconds=draw(st.integers(base, BACKOFF_SECONDS_MAX)),
    )


def plain(backoff: Backoff, retry: int) -> int:
    """The delay without jitter and cap, doubled no further than any cap can reach."""
    match backoff.kind:
        case BackoffKind.NONE:
            return 0
        case BackoffKind.FIXED:
            return backoff.base_seconds * 1000
        case BackoffKind.EXPONENTIAL:
            return backoff.base_seconds * 1000 << min(retry - 1, 40)


@print_blob
@given(backoffs(), retries, shares)
def test_a_delay_is_never_shorter_than_asked(backoff: Backoff, retry: int, share: float) -> None:
    asked = min(plain(backoff, retry), backoff.max_seconds * 1000)

    assert backoff.delay(retry, share) >= asked


@print_blob
@given(backoffs(), retries, shares)
def test_a_delay_is_never_over_the_cap(backoff: Backoff, retry: int, share: float) -> None:
    assert backoff.delay(retry, share) <= backoff.max_seconds * 1000


@print_blob
@given(backoffs(), retries, shares)
def test_jitter_adds_a_tenth_at_most(backoff: Backoff, retry: int, share: float) -> None:
    asked = plain(backoff, retry)

    # The last millisecond comes from rounding up.
    assert backoff.delay(retry, share) <= asked + asked // 10 + 1


@print_blob
@given(backoffs(), retries, shares)
def test_a_delay_never_shrinks_from_one_retry_to_the_next(
    backoff: Backoff, retry: int, share: float
) -> None:
    assert backoff.delay(retry + 1, share) >= backoff.delay(retry, share)


@print_blob
@given(backoffs(BackoffKind.EXPONENTIAL), retries, shares, shares)
def test_jitter_never_turns_the_order_of_exponential_delays(
    backoff: Backoff, retry: int, share: float, next_share: float
) -> None:
    assert backoff.delay(retry + 1, next_share) >= backoff.delay(retry, share)


@print_blob
@given(st.sampled_from([64, 10_000, 10**6, 10**9]), shares)
def test_a_delay_after_very_many_retries_is_the_cap(retry: int, share: float) -> None:
    """B18: exponential backoff overflows the range of dates and the job vanishes."""
    backoff = Backoff(kind=BackoffKind.EXPONENTIAL, base_seconds=1, max_seconds=3600)

    assert backoff.delay(retry, share) == 3_600_000


@print_blob
@given(backoffs(BackoffKind.NONE), retries, shares)
def test_no_backoff_is_no_delay(backoff: Backoff, retry: int, share: float) -> None:
    assert backoff.delay(retry, share) == 0


def test_an_exponential_delay_doubles_until_the_cap() -> None:
    backoff = Backoff(kind=BackoffKind.EXPONENTIAL, base_seconds=2, max_seconds=15)

    assert [backoff.delay(retry, 0) for retry in range(1, 6)] == [2000, 4000, 8000, 15000, 15000]


def test_a_fixed_delay_stays_the_same() -> None:
    backoff = Backoff(kind=BackoffKind.FIXED, base_seconds=7, max_seconds=60)

    assert [backoff.delay(retry, 0) for retry in (1, 2, 10_000)] == [7000, 7000, 7000]


def test_jitter_spreads_jobs_that_failed_together() -> None:
    backoff = Backoff(kind=BackoffKind.FIXED, base_seconds=100, max_seconds=3600)

    spread = [backoff.delay(1, share) for share in (0, 0.25, 0.5, 0.75)]

    assert spread == [100_000, 102_500, 105_000, 107_500]
