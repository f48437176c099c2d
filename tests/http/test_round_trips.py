"""Payload and result are the users' data: they come back exactly as they were sent."""

import pytest

from tests.support.http import Api, json_of

DOCUMENTS = [
    pytest.param('{"s":"a\\u0000b","k\\u0000x":1}', id="NUL, B01"),
    pytest.param('{"z":1,"a":{"y":2,"b":3},"m":4}', id="key order"),
    pytest.param('{"9":1,"10":2,"":3}', id="keys that look like numbers"),
    pytest.param(
        '{"v":[9007199254740993,-9223372036854775809,18446744073709551616]}', id="integers"
    ),
    pytest.param('{"v":[' + "7" * 400 + "]}", id="a huge integer"),
    pytest.param('{"v":[0.1,1e-07,1.5e+300,5e-324,1.0,-0.0]}', id="floats"),
    pytest.param('{"v":[true,false,null,0,"",[],{}]}', id="small values"),
    pytest.param('{"ключ":"שלום 😀 e\u0301 \u2028\x7f"}', id="unicode as it stands"),
    pytest.param('{"v":"\\"\\\\/\\b\\f\\n\\r\\t\\u001f"}', id="escapes that JSON needs"),
    pytest.param('{"__proto__":{"a":1},"id":0,"status":"failed"}', id="names that mean something"),
]


def payload_text(raw: bytes) -> str:
    """The payload as the answer spells it; it stands between the type and the priority."""
    return raw.decode().partition('"payload":')[2].partition(',"priority":')[0]


def result_text(raw: bytes) -> str:
    return raw.decode().partition('"result":')[2].partition(',"finished_at":')[0]


@pytest.mark.parametrize("text", DOCUMENTS)
def test_a_payload_comes_back_exactly_wherever_it_is_shown(api: Api, text: str) -> None:
    raw = f'{{"type":"email","payload":{text}}}'.encode()

    enqueued = api.call("POST", "/jobs", "producer", raw=raw)
    read = api.call("GET", "/jobs/1", "producer")
    listed = api.call("GET", "/jobs", "producer")
    claimed = api.call("POST", "/jobs/claim", "worker")

    assert payload_text(enqueued.data) == text
    assert payload_text(read.data) == text
    assert payload_text(listed.data) == text
    assert payload_text(claimed.data) == text


@pytest.mark.parametrize("text", DOCUMENTS)
def test_a_result_comes_back_exactly(api: Api, text: str) -> None:
    api.enqueue()
    claimed = api.claim()
    raw = f'{{"attempt":{claimed["attempt"]},"result":{text}}}'.encode()

    completed = api.call("POST", "/jobs/1/complete", "worker", raw=raw)
    read = api.call("GET", "/jobs/1", "producer")

    assert result_text(completed.data) == text
    assert result_text(read.data) == text


@pytest.mark.parametrize("text", ["false", "0", '""', "[]", "{}", '"null"', "-1.5", "[null]"])
def test_a_result_may_be_any_json(api: Api, text: str) -> None:
    api.enqueue()
    api.claim()

    completed = api.call("POST", "/jobs/1/complete", "worker", raw=f'{{"result":{text}}}'.encode())

    assert result_text(completed.data) == text


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (r'{"v":"\u00e9\ud83d\ude00\/"}', '{"v":"é😀/"}'),
        ('{ "v" : [ 1 , 2 ] }', '{"v":[1,2]}'),
        ('{"v":1E2}', '{"v":100.0}'),
        ('{"v":1e-400}', '{"v":0.0}'),
    ],
)
def test_other_spellings_of_the_same_value_are_kept_in_the_compact_one(
    api: Api, sent: str, kept: str
) -> None:
    raw = f'{{"type":"email","payload":{sent}}}'.encode()

    reply = api.call("POST", "/jobs", "producer", raw=raw)

    assert payload_text(reply.data) == kept


def test_a_payload_is_never_scrubbed(api: Api) -> None:
    secret = {"password": "hunter2", "header": "Authorization: Bearer mF_9.B5f-4.1JqM"}

    job = api.enqueue(payload=secret)

    assert api.get(job)["payload"] == secret


def test_a_result_is_never_scrubbed(api: Api) -> None:
    secret = {"url": "postgres://app:hunter2@db.internal/prod"}
    api.enqueue()
    claimed = api.claim()

    reply = api.report("complete", claimed, result=secret)

    assert json_of(reply)["result"] == secret
