"""A fault of the whole request refuses the whole batch, and nothing of it is stored."""

from typing import Any

import pytest

from queuelog_core.http.bodies import BATCH_JOBS_MAX, DOCUMENT_BYTES_MAX, REQUEST_BYTES_MAX
from tests.support.http import Api, assert_problem, faults, json_of

EMAIL = {"type": "email"}


def stored(api: Api) -> int:
    return len(json_of(api.call("GET", "/jobs?limit=200"))["jobs"])


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({}, ("jobs", "missing")),
        ({"jobs": None}, ("jobs", "missing")),
        ({"jobs": []}, ("jobs", "wrong-length")),
        ({"jobs": [EMAIL] * (BATCH_JOBS_MAX + 1)}, ("jobs", "wrong-length")),
        ({"jobs": EMAIL}, ("jobs", "wrong-type")),
        ({"jobs": "email"}, ("jobs", "wrong-type")),
        ({"jobs": 1}, ("jobs", "wrong-type")),
        ({"jobs": [EMAIL], "limit": 1}, ("limit", "unknown")),
        ({"jobs": [EMAIL], "idempotency_key": "k"}, ("idempotency_key", "unknown")),
        ([EMAIL], ("", "wrong-type")),
        (EMAIL | {"jobs": [EMAIL]}, ("type", "unknown")),
    ],
    ids=str,
)
def test_a_fault_of_the_whole_refuses_the_whole(
    api: Api, body: Any, fault: tuple[str, str]
) -> None:
    assert faults(api.call("POST", "/jobs/batch", "producer", body)) == [fault]
    assert stored(api) == 0


@pytest.mark.parametrize(
    ("second", "status", "code"),
    [
        (b'{"type":"email",}', 400, "invalid-json"),
        (b'{"type":"email","type":"email"}', 400, "invalid-json"),
        (b'{"type":"email","payload":{"a":NaN}}', 400, "invalid-json"),
        (b'{"type":"email","payload":{"a":1e400}}', 400, "invalid-json"),
        (b'{"type":"email","payload":{"a":"\\ud800"}}', 400, "invalid-json"),
        (b'{"type":"email","payload":{"a":"\xff"}}', 400, "invalid-json"),
        (b'{"type":"email","payload":{"a":' + b"1" * 4301 + b"}}", 422, "validation-failed"),
        (
            b'{"type":"email","payload":{"a":' + b"[" * 100 + b"]" * 100 + b"}}",
            422,
            "validation-failed",
        ),
    ],
    ids=["comma", "twice", "NaN", "overflow", "surrogate", "not UTF-8", "digits", "deep"],
)
def test_what_is_no_strict_json_in_one_item_refuses_the_whole(
    api: Api, second: bytes, status: int, code: str
) -> None:
    raw = b'{"jobs": [{"type": "email"}, ' + second + b"]}"

    assert_problem(api.call("POST", "/jobs/batch", "producer", raw=raw), status, code)
    assert stored(api) == 0


@pytest.mark.parametrize("content_type", ["text/plain", "application/json; charset=latin-1", None])
def test_a_batch_of_another_media_type_is_refused(api: Api, content_type: str | None) -> None:
    raw = b'{"jobs": [{"type": "email"}]}'

    reply = api.call("POST", "/jobs/batch", "producer", raw=raw, content_type=content_type)

    assert_problem(reply, 415, "unsupported-media-type")
    assert stored(api) == 0


@pytest.mark.parametrize(("beyond", "status"), [(0, 200), (1, 413)])
def test_a_batch_of_more_than_a_mebibyte_is_refused(api: Api, beyond: int, status: int) -> None:
    jobs = b'{"jobs": [' + b",".join([b'{"type": "email"}'] * BATCH_JOBS_MAX) + b"]}"
    raw = jobs.ljust(REQUEST_BYTES_MAX + beyond)

    reply = api.call("POST", "/jobs/batch", "producer", raw=raw)

    assert reply.status_code == status
    assert stored(api) == (0 if beyond else BATCH_JOBS_MAX)


@pytest.mark.parametrize(("levels", "status"), [(62, 200), (63, 422)])
def test_a_job_may_be_as_deep_in_a_batch_as_alone(api: Api, levels: int, status: int) -> None:
    """62 lists, the payload around them and the job: 64 levels, as any body has at most."""
    deep = '{"type":"email","payload":{"a":' + "[" * levels + "]" * levels + "}}"

    alone = api.call("POST", "/jobs", "producer", raw=deep.encode())
    batch = api.call("POST", "/jobs/batch", "producer", raw=f'{{"jobs":[{deep}]}}'.encode())

    assert alone.status_code == (201 if status == 200 else 422)
    assert batch.status_code == status


def test_fifteen_of_the_largest_payloads_fit_in_a_batch(api: Api) -> None:
    payload = {"text": "x" * (DOCUMENT_BYTES_MAX - len('{"text":""}'))}

    reply = api.call(
        "POST", "/jobs/batch", "producer", {"jobs": [EMAIL | {"payload": payload}] * 15}
    )

    assert [result["status"] for result in json_of(reply)["results"]] == [201] * 15
    assert api.get({"id": 15})["payload"] == payload
