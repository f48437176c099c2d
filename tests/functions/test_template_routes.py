"""The compiled gateway: each route to its function, behind its authorizer, in the table's order."""

import importlib
import re
from typing import Any

import pytest

from queuelog_core.http.routes import GROUPS, ROUTES, routes_of
from queuelog_core.identity import AUTHORIZERS
from tests.functions.template import AUTHORIZING, Template, compiled


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return compiled(tmp_path_factory)


def function_behind(template: Template, route: Any) -> str:
    reference = route["Target"]["Fn::Join"][1][1]["Ref"]
    return template.name_at(template.of("ApiGatewayV2::Integration")[reference]["IntegrationUri"])


def authorizer_of(template: Template, route: Any) -> str | None:
    if "AuthorizerId" not in route:
        assert route.get("AuthorizationType", "NONE") == "NONE"
        return None
    assert route["AuthorizationType"] == "CUSTOM"
    found = template.of("ApiGatewayV2::Authorizer")[route["AuthorizerId"]["Ref"]]
    return str(found["Name"])


def test_each_route_is_behind_its_authorizer_and_leads_to_its_function_in_the_tables_order(
    template: Template,
) -> None:
    routes = [
        (each["RouteKey"], authorizer_of(template, each), function_behind(template, each))
        for each in template.of("ApiGatewayV2::Route").values()
    ]

    assert routes == [
        (f"{route.method} {route.path}", route.authorizer, route.group)
        for group in GROUPS
        for route in routes_of(group)
    ]


def test_only_health_and_the_document_are_open(template: Template) -> None:
    routes = template.of("ApiGatewayV2::Route").values()
    is_open = {each["RouteKey"] for each in routes if "AuthorizerId" not in each}

    assert is_open == {"GET /health", "GET /openapi.json"}


def test_no_literal_path_stands_behind_a_parameter_that_would_swallow_it(
    template: Template,
) -> None:
    routes = template.of("ApiGatewayV2::Route").values()
    paths = [each["RouteKey"].partition(" ")[2] for each in routes]
    swallowed = [
        (earlier, later)
        for place, later in enumerate(paths)
        for earlier in paths[:place]
        if earlier != later and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", earlier), later)
    ]

    assert swallowed == []


def test_no_route_catches_what_the_table_does_not_name(template: Template) -> None:
    keys = {each["RouteKey"] for each in template.of("ApiGatewayV2::Route").values()}

    assert keys == {f"{route.method} {route.path}" for route in ROUTES}


def test_requests_come_as_payload_2_and_the_gateway_waits_longer_than_the_function(
    template: Template,
) -> None:
    for each in template.of("ApiGatewayV2::Integration").values():
        function = template.functions[template.name_at(each["IntegrationUri"])]
        assert each["IntegrationType"] == "AWS_PROXY"
        assert each["PayloadFormatVersion"] == "2.0"
        assert each["TimeoutInMillis"] == 30_000 > function["Timeout"] * 1000


def test_authorizers_answer_from_the_key_alone_and_are_kept_for_a_minute(
    template: Template,
) -> None:
    """The gateway calls none of them without that header: missing and empty keys are 401."""
    for each in template.of("ApiGatewayV2::Authorizer").values():
        asked = {name: each[name] for name in each if name not in ("ApiId", "Name")}
        del asked["AuthorizerUri"]
        assert asked == {
            "AuthorizerType": "REQUEST",
            "AuthorizerPayloadFormatVersion": "2.0",
            "EnableSimpleResponses": True,
            "IdentitySource": ["$request.header.x-api-key"],
            "AuthorizerResultTtlInSeconds": 60,
        }


def test_each_set_of_roles_has_an_authorizer_that_judges_by_it(template: Template) -> None:
    judged = {}
    for each in template.of("ApiGatewayV2::Authorizer").values():
        (function,) = (
            template.name_at(part)
            for part in each["AuthorizerUri"]["Fn::Join"][1]
            if isinstance(part, dict) and "Fn::GetAtt" in part
        )
        judged[each["Name"]] = template.functions[function]["Handler"]

    assert judged == {name: f"functions/authorize.{name}" for name in AUTHORIZERS}


def test_no_authorizer_has_the_name_of_a_function(template: Template) -> None:
    """The emulator looks an authorizer up among the functions first, and would run that."""
    named = {each["Name"] for each in template.of("ApiGatewayV2::Authorizer").values()}

    assert named.isdisjoint(template.functions)


def test_every_function_has_a_handler_that_is_there(template: Template) -> None:
    expected = {*GROUPS, *AUTHORIZING, "maintain", "drain"}

    assert set(template.functions) == expected
    for each in template.functions.values():
        module, _, name = each["Handler"].rpartition(".")
        assert callable(getattr(importlib.import_module(module.replace("/", ".")), name))


def test_the_default_stage_is_throttled(template: Template) -> None:
    (stage,) = template.of("ApiGatewayV2::Stage").values()

    assert stage["StageName"] == "$default"
    assert stage["AutoDeploy"] is True
    assert stage["DefaultRouteSettings"] == {
        "ThrottlingRateLimit": 50,
        "ThrottlingBurstLimit": 100,
    }


def test_the_gateways_own_log_holds_no_header_and_no_query(template: Template) -> None:
    (stage,) = template.of("ApiGatewayV2::Stage").values()
    written = set(re.findall(r"\$context\.([\w.]+)", stage["AccessLogSettings"]["Format"]))

    assert written == {
        *("requestId", "identity.sourceIp", "requestTime", "httpMethod", "routeKey"),
        *("status", "protocol", "responseLength"),
    }
