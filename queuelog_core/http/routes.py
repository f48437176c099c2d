"""The one route table: Flask's rules, infra/http.yml, authorizers, openapi.json come from it.

Literal paths stand before the parameters that would swallow them. `group` names the function that
serves a route: a further route rides with the one that has the same rights.
"""

from collections.abc import Callable
from typing import NamedTuple

from queuelog_core.http import endpoints
from queuelog_core.http.bodies import ClaimBody, CompleteBody, EnqueueBody, FailBody, ListQuery
from queuelog_core.http.endpoints import Call, Reply
from queuelog_core.identity import Role

READERS = frozenset(Role)
PRODUCERS = frozenset({Role.PRODUCER, Role.ADMIN})
WORKERS = frozenset({Role.WORKER, Role.ADMIN})
OPEN: frozenset[Role] = frozenset()


class Route(NamedTuple):
    """One route. No roles: open to everybody. `replies` are the statuses of success."""

    name: str
    group: str
    method: str
    path: str
    roles: frozenset[Role]
    endpoint: Callable[[Call], Reply]
    summary: str
    replies: tuple[int, ...] = (200,)
    body: type | None = None
    query: type | None = None

    @property
    def authorizer(self) -> str | None:
        """The Lambda authorizer in front of the route: the least role that may pass."""
        if not self.roles:
            return None
        if self.roles == READERS:
            return "reader"
        return min(self.roles - {Role.ADMIN}, default=Role.ADMIN).value


ROUTES: tuple[Route, ...] = (
    Route(
        name="enqueue",
        group="enqueue",
        method="POST",
        path="/jobs",
        roles=PRODUCERS,
        endpoint=endpoints.enqueue,
        body=EnqueueBody,
        replies=(201, 200),
        summary="Enqueue a job, once per idempotency key",
    ),
    Route(
        name="list_jobs",
        group="list",
        method="GET",
        path="/jobs",
        roles=READERS,
        endpoint=endpoints.list_jobs,
        query=ListQuery,
        summary="List the jobs that the caller may see, page by page",
    ),
    Route(
        name="claim",
        group="claim",
        method="POST",
        path="/jobs/claim",
        roles=WORKERS,
        endpoint=endpoints.claim,
        body=ClaimBody,
        replies=(200, 204),
        summary="Claim the best due job",
    ),
    Route(
        name="get",
        group="get",
        method="GET",
        path="/jobs/{id}",
        roles=READERS,
        endpoint=endpoints.get,
        summary="Read one job",
    ),
    Route(
        name="complete",
        group="complete",
        method="POST",
        path="/jobs/{id}/complete",
        roles=WORKERS,
        endpoint=endpoints.complete,
        body=CompleteBody,
        summary="Report a claimed job as done",
    ),
    Route(
        name="fail",
        group="fail",
        method="POST",
        path="/jobs/{id}/fail",
        roles=WORKERS,
        endpoint=endpoints.fail,
        body=FailBody,
        summary="Report a claimed job as failed: it is retried while its budget lasts",
    ),
    Route(
        name="stats",
        group="list",
        method="GET",
        path="/stats",
        roles=WORKERS,
        endpoint=endpoints.stats,
        summary="Numbers of the queue, never by a full scan",
    ),
    Route(
        name="whoami",
        group="list",
        method="GET",
        path="/whoami",
        roles=READERS,
        endpoint=endpoints.whoami,
        summary="The identity behind the key and what it may do",
    ),
    Route(
        name="health",
        group="open",
        method="GET",
        path="/health",
        roles=OPEN,
        endpoint=endpoints.health,
        summary="Whether the store takes writes",
    ),
    Route(
        name="openapi",
        group="open",
        method="GET",
        path="/openapi.json",
        roles=OPEN,
        endpoint=endpoints.openapi,
        summary="This contract as OpenAPI 3.1",
    ),
)

GROUPS = tuple(dict.fromkeys(route.group for route in ROUTES))


def routes_of(group: str) -> tuple[Route, ...]:
    """The routes that one function serves."""
    return tuple(route for route in ROUTES if route.group == group)
