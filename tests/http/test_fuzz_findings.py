"""What drawing requests from the OpenAPI document has found, each with its test."""

from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from queuelog_core.http.openapi import openapi_document
from tests.support.http import Api, faults


def test_the_document_says_in_words_that_a_number_with_a_fraction_is_no_integer(api: Api) -> None:
    """JSON Schema takes 5.0 for an integer, so its rules alone allow what is refused."""
    document: Any = openapi_document()
    body = {"type": "email", "max_retries": 5.0}
    content = document["paths"]["/jobs"]["post"]["requestBody"]["content"]["application/json"]

    reply = api.call("POST", "/jobs", "producer", body)

    assert Draft202012Validator(content["schema"]).is_valid(body)
    assert faults(reply) == [("max_retries", "wrong-type")]
    assert "5.0 is no integer" in document["info"]["description"]
