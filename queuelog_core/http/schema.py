"""Bodies and queries as classes whose fields carry rules: one source to parse and to document.

    class ClaimBody(NamedTuple):
        lease_seconds: Annotated[int | None, Integer(1, 43_200)] = None

A field without a default is required; `null` for an optional one means absent. All faults are
collected; no message repeats a value of the request.
"""

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar, cast, get_type_hints

from queuelog_core.errors import FieldError, ValidationFailed
from queuelog_core.http.rules import QueryRule, Refused, Rule

REQUIRED = object()
_FIELD_CHARS_MAX = 64
_T = TypeVar("_T")


class Field(NamedTuple):
    """`default` is REQUIRED for a field that has none."""

    name: str
    rule: Rule
    default: Any

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the field as a query parameter takes it."""
        schema = self.rule.schema()
        if self.default in (None, REQUIRED):
            return schema
        labels = getattr(self.rule, "values", {})
        shown = {value: label for label, value in labels.items()}.get(self.default, self.default)
        return schema | {"default": shown}


class Nested(NamedTuple):
    """A field that is an object with fields of its own."""

    shape: type

    def check(self, value: Any) -> Any:
        return parse_body(self.shape, value)

    def schema(self) -> dict[str, Any]:
        return object_schema(self.shape)


class JudgedAlone(Nested):
    """An object that stops no other when it is bad: its ValidationFailed stands in its place."""

    def check(self, value: Any) -> Any:
        try:
            return parse_body(self.shape, value)
        except ValidationFailed as failed:
            return failed


@functools.cache
def fields_of(shape: type[Any]) -> tuple[Field, ...]:
    """The fields of a body or query, in order."""
    hints = get_type_hints(shape, include_extras=True)
    return tuple(
        Field(name, hints[name].__metadata__[0], shape._field_defaults.get(name, REQUIRED))
        for name in shape._fields
    )


def parse_body(shape: type[_T], value: Any) -> _T:
    """An instance of `shape` from parsed JSON. Raises ValidationFailed with all that is wrong."""
    if not isinstance(value, dict):
        raise ValidationFailed(
            "See errors.", errors=[FieldError("", "wrong-type", "Must be an object.")]
        )
    present = {name: item for name, item in value.items() if item is not None}
    return _build(shape, value.keys(), present, lambda rule, item: rule.check(item))


def parse_query(shape: type[_T], query: Mapping[str, list[str]]) -> _T:
    """An instance of `shape` from query parameters, each given once. Raises ValidationFailed."""
    repeated = [name for name, values in query.items() if len(values) > 1]
    if repeated:
        raise _failed(FieldError(_shown(n), "repeated", "Give it once.") for n in repeated)
    single = {name: values[0] for name, values in query.items()}
    return _build(
        shape, single.keys(), single, lambda rule, text: cast(QueryRule, rule).from_text(text)
    )


def object_schema(shape: type) -> dict[str, Any]:
    """JSON Schema of a body."""
    properties = {}
    for field in fields_of(shape):
        schema = field.schema()
        if not field.required and "type" in schema:
            kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            schema = schema | {"type": [*kinds, "null"]}
        if not field.required and "enum" in schema:
            schema = schema | {"enum": [*schema["enum"], None]}
        properties[field.name] = schema
    required = [field.name for field in fields_of(shape) if field.required]
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _build(
    shape: type[_T],
    sent: Iterable[str],
    values: Mapping[str, Any],
    check: Callable[[Rule, Any], Any],
) -> _T:
    fields = fields_of(cast(Hashable, shape))
    errors = []
    checked: dict[str, Any] = {}
    for field in fields:
        if field.name in values:
            try:
                checked[field.name] = check(field.rule, values[field.name])
            except Refused as refused:
                errors.append(FieldError(field.name, refused.code, refused.message))
            except ValidationFailed as failed:
                errors += [
                    fault._replace(field=f"{field.name}.{fault.field}".rstrip("."))
                    for fault in failed.errors
                ]
        elif field.required:
            errors.append(FieldError(field.name, "missing", "This field is needed."))
    known = {field.name for field in fields}
    errors += [
        FieldError(_shown(name), "unknown", "There is no such field.")
        for name in sent
        if name not in known
    ]
    if errors:
        raise _failed(errors)
    built = shape(**checked)
    across: list[FieldError] = built.conflicts() if hasattr(built, "conflicts") else []
    if across:
        raise _failed(across)
    return built


def _failed(errors: Iterable[FieldError]) -> ValidationFailed:
    return ValidationFailed("See errors.", errors=list(errors))


def _shown(name: str) -> str:
    return name[:_FIELD_CHARS_MAX]
