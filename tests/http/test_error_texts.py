"""The error of a failure: scrubbed, cut, without NUL, and for admins only."""

import pytest

from tests.support.http import Api, json_of

SECRETS = [
    ("login failed: password=hunter2-xyzzy", "hunter2-xyzzy"),
    ("GET https://app:hunter2-xyzzy@db.internal/ timed out", "hunter2-xyzzy"),
    ("sent Authorization: Bearer mF_9.B5f-4.1JqM", "mF_9.B5f-4.1JqM"),
    ("AKIAIOSFODNN7EXAMPLE is not allowed", "AKIAIOSFODNN7EXAMPLE"),
    ("key ql_worker_" + "a1" * 21 + "b_0a1B2c", "a1" * 21),
]


def failed(api: Api, error: str, error_code: str | None = None) -> None:
    api.enqueue()
    reply = api.report("fail", api.claim(), error=error, error_code=error_code)
    assert reply.status_code == 200


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_scrubbed_before_it_is_stored(api: Api, text: str, secret: str) -> None:
    """B49."""
    failed(api, text)

    stored = api.store.get(1)

    assert stored is not None
    assert stored.error is not None
    assert secret not in stored.error
    assert "[redacted:" in stored.error


def test_what_is_no_secret_stays(api: Api) -> None:
    failed(api, "connection to mail.example.com:25 refused after 3 tries")

    assert api.get({"id": 1})["error"] == "connection to mail.example.com:25 refused after 3 tries"


def test_nul_becomes_the_replacement_character(api: Api) -> None:
    """B02: the job must not stay running over it."""
    failed(api, "boom\0x\0")

    job = api.get({"id": 1})

    assert (job["status"], job["error"]) == ("pending", "boom\ufffdx\ufffd")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1024),
        ("é" * 600, "é" * 512),
        ("x" + "é" * 600, "x" + "é" * 511),
        ("€" * 400, "€" * 341),
        ("😀" * 300, "😀" * 256),
        ("\0" * 400, "\ufffd" * 341),
        ("x " * 400_000, "x " * 512),
        (" " * 20_000, " " * 1024),
    ],
    ids=lambda text: f"{text[:2]!r}×{len(text)}",
)
def test_an_error_is_cut_to_1024_bytes_between_characters(api: Api, text: str, kept: str) -> None:
    """B50."""
    failed(api, text)

    assert api.get({"id": 1})["error"] == kept


@pytest.mark.parametrize("filler", [1003, 1004, 1010, 1015, 1019, 1020])
@pytest.mark.parametrize("secret", ["AKIAIOSFODNN7EXAMPLE", "password=AKIA-hunter2-xyzzy"])
def test_no_half_of_a_secret_survives_the_cut(api: Api, secret: str, filler: int) -> None:
    """B50: scrubbed first, cut after."""
    failed(api, "x" * (filler - 1) + " " + secret)

    assert "AKIA" not in api.get({"id": 1})["error"]


@pytest.mark.parametrize("place", [16_364, 16_365, 16_370, 16_375, 16_379])
def test_no_half_of_a_secret_survives_the_bound_of_the_scrubber(api: Api, place: int) -> None:
    """B50: the long secrets before it shrink, so what lies at the bound is shown."""
    before = ("password=" + "s" * 1000 + " ") * 16

    failed(api, before + "x" * (place - len(before) - 1) + " AKIAIOSFODNN7EXAMPLE")

    assert "AKIA" not in api.get({"id": 1})["error"]


@pytest.mark.timeout(30)
def test_a_text_made_to_slow_the_scrubber_is_answered_quickly(api: Api) -> None:
    """B50."""
    failed(api, "password" * 110_000)

    assert len(api.get({"id": 1})["error"]) == 1024


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        ("smtp_down", "smtp_down"),
        ("a" * 64, "a" * 64),
        ("0", "0"),
        ("sk_live_4ec39hqlyjwdarjtt1zdp7dc", "redacted"),
        ("ghp_0123456789abcdefghijabcdefghij012345", "redacted"),
    ],
)
def test_an_error_code_that_hides_a_secret_is_redacted(api: Api, code: str, kept: str) -> None:
    failed(api, "boom", code)

    assert api.get({"id": 1})["error_code"] == kept


def test_all_may_see_the_code(api: Api) -> None:
    failed(api, "boom", "smtp_down")

    codes = [api.get({"id": 1}, key)["error_code"] for key in ("producer", "worker", "admin")]

    assert codes == ["smtp_down"] * 3


def test_only_admins_see_the_text(api: Api) -> None:
    failed(api, "boom")

    texts = [api.get({"id": 1}, key)["error"] for key in ("producer", "worker", "admin")]

    assert texts == [None, None, "boom"]


def test_the_reporter_does_not_see_its_own_text_again(api: Api) -> None:
    api.enqueue()

    reply = api.report("fail", api.claim(), error="boom")

    assert json_of(reply)["error"] is None


def test_a_report_is_the_same_when_its_scrubbed_text_is(api: Api) -> None:
    api.enqueue()
    running = api.claim()
    api.report("fail", running, error="password=hunter2-xyzzy")

    again = api.report("fail", running, error="password=hunter2-xyzzy")

    assert again.headers["Idempotent-Replayed"] == "true"
