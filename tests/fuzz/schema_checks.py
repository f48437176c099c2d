"""Which checks hold, and each thing that is let pass, with its reason."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import schemathesis
from jsonschema_rs import Draft202012Validator
from schemathesis import Case, CheckContext, Response
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.openapi.checks import RejectedPositiveData

from queuelog_core.http.bodies import BatchBody, EnqueueBody
from queuelog_core.http.schema import object_schema

BATCH = "POST /jobs/batch"
_ITEM = Draft202012Validator(object_schema(EnqueueBody), validate_formats=True)


def _whole_batch() -> Draft202012Validator:
    """A batch whose items are judged one by one, so that any will do."""
    schema = object_schema(BatchBody)
    del schema["properties"]["jobs"]["items"]
    return Draft202012Validator(schema)


_BATCH = _whole_batch()


@schemathesis.check
def unknown_parameters_are_refused(_: CheckContext, response: Response, case: Case) -> None:
    """Schemathesis lets a query with unknown parameters pass, the contract does not."""
    sent = parse_qs(urlsplit(response.request.url).query, keep_blank_values=True)  # type: ignore[type-var]
    known = {parameter.name for parameter in case.operation.query}
    assert not known or response.status_code != 200 or sent.keys() <= known


@schemathesis.check
def each_item_of_a_batch_is_judged(_: CheckContext, response: Response, case: Case) -> None:
    """A wrong item is refused in its place, a right one only for the reasons of a single job."""
    if case.operation.label != BATCH or response.status_code != 200:
        return
    for item, result in zip(_items(case), response.json()["results"], strict=True):
        if result["status"] == 422:
            errors = result["error"]["errors"]
            assert not _ITEM.is_valid(item) or all(_is_beyond_schemas(item, e) for e in errors)
        else:
            assert result["status"] in (200, 201, 403) and _ITEM.is_valid(item)


CHECKS: dict[str, Any] = {
    # All that schemathesis has; none is switched off.
    "enabled": True,
    # No route redirects.
    "not_a_server_error": {"expected-statuses": ["2xx", "4xx"]},
    # Neither the state of a job nor the store is asked before a wrong request is refused.
    "negative_data_rejection": {
        "expected-statuses": ["400", "401", "403", "404", "413", "415", "422"]
    },
    # What a right request may meet by policy: its key, whose the job is, what state it is in.
    # A 422 passes only for the rules below.
    "positive_data_acceptance": {"expected-statuses": ["2xx", "401", "403", "404", "409"]},
    # The key is the only header that must be there.
    "missing_required_header": {"expected-statuses": ["401"]},
}
BEYOND_SCHEMAS = {
    ("type", "not-allowed"): "The allowlist of types is a setting.",
    ("types", "not-allowed"): "The allowlist of types is a setting.",
    ("lease_seconds", "out-of-range"): "The longest run is a setting of each type.",
    ("delay_seconds", "conflict"): "Not beside run_at.",
    ("retry_in_seconds", "conflict"): "Not with retryable false.",
    ("idempotency_key", "conflict"): "Not another one than in the header.",
    ("run_at", "out-of-range"): "A year from now, whenever that is.",
    ("error_code", "reserved"): "Three codes are the server's own.",
    ("cursor", "wrong-cursor"): "A cursor belongs to its list.",
    ("filter.type", "not-allowed"): "The allowlist of types is a setting.",
    ("filter.status", "missing"): "Needed by a filter that is not empty.",
    ("all", "missing"): "Needed by an empty filter.",
    ("Idempotency-Key", "wrong-format"): "The bytes of the header must be UTF-8.",
}


def is_a_fault(failure: Failure, case: Case, response: Response) -> bool:
    """False for what the document cannot tell: rules beyond schemas, and a batch of wrong items."""
    if isinstance(failure, AcceptedNegativeData) and case.operation.label == BATCH:
        return not _BATCH.is_valid(case.body) or all(map(_ITEM.is_valid, _items(case)))
    if not isinstance(failure, RejectedPositiveData) or response.status_code != 422:
        return True
    document = response.json()
    if document["code"] == "idempotency-key-reused":
        return False
    errors = document["errors"]
    return not errors or not all(_is_beyond_schemas(case.body, error) for error in errors)


def _items(batch: Case) -> list[Any]:
    body: Any = batch.body
    items: list[Any] = body["jobs"]
    return items


def _is_beyond_schemas(body: Any, error: dict[str, str]) -> bool:
    # JSON Schema takes 5.0 for an integer, the contract does not.
    if error["code"] == "wrong-type" and isinstance(body, dict):
        value = body[error["field"]]
        return isinstance(value, float) and value.is_integer()
    return (error["field"], error["code"]) in BEYOND_SCHEMAS
