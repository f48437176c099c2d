"""A client of DynamoDB that notes what is called, and for whom."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from scripts.infra_files import Calls
from tests.support.dynamodb import Kept
from tests.support.dynamodb_faults import CALLS


class Noting(Kept):
    """Notes each call under the name of what is going on. What stands in `before` for a call is
    done once, right before it."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.going_on = ""
        self.noted: defaultdict[str, Calls] = defaultdict(Calls)
        self.before: dict[str, Callable[[], object]] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name not in CALLS:
            return method

        def call(**request: Any) -> Any:
            self.before.pop(name, lambda: None)()
            self.noted[self.going_on] |= _noted(name, request.get("IndexName"))
            return method(**request)

        return call


def _noted(name: str, index: str | None) -> Calls:
    if index is not None:
        assert name == "query"
        return Calls(indexes=frozenset({index}))
    return Calls(frozenset({name.title().replace("_", "")}))
