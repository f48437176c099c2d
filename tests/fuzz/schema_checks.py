"""Which checks hold, and each thing that is let pass, with its reason."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import schemathesis
from schemathesis import Case, CheckContext, Response
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import RejectedPositiveData


@schemathesis.check
def unknown_parameters_are_refused(_: CheckContext, response: Response, case: Case) -> None:
    """Schemathesis lets a query with unknown parameters pass, the contract does not."""
    sent = parse_qs(urlsplit(response.request.url).query, keep_blank_values=True)  # type: ignore[type-var]
    known = {parameter.name for parameter in case.operation.query}
    assert not known or response.status_code != 200 or sent.keys() <= known


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
    ("Idempotency-Key", "wrong-format"): "The bytes of the header must be UTF-8.",
}


def is_a_fault(failure: Failure, case: Case, response: Response) -> bool:
    """False for the refusal of a right request by rules that no schema can tell."""
    if not isinstance(failure, RejectedPositiveData) or response.status_code != 422:
        return True
    document = response.json()
    if document["code"] == "idempotency-key-reused":
        return False
    errors = document["errors"]
    return not errors or not all(_is_beyond_schemas(case, error) for error in errors)


def _is_beyond_schemas(case: Case, error: dict[str, str]) -> bool:
    # JSON Schema takes 5.0 for an integer, the contract does not.
    if error["code"] == "wrong-type" and isinstance(case.body, dict):
        value = case.body[error["field"]]
        return isinstance(value, float) and value.is_integer()
    return (error["field"], error["code"]) in BEYOND_SCHEMAS
