"""The one route table: Flask's rules, infra/http.yml, authorizers, openapi.json come from it.

Literal paths stand before the parameters that would swallow them. `group` names the function that
serves a route: a further route rides with the one that has the same rights.
"""

from collections.abc import Callable
from typing import NamedTuple

from queuelog_core.http import endpoints, service_endpoints, worker_endpoints
from queuelog_core.http.bodies import (
    BatchBody,
    ClaimBody,
    CompleteBody,
    EmptyBody,
    EnqueueBody,
    FailBody,
    HeartbeatBody,
    ListQuery,
    RedriveManyBody,
    ReleaseBody,
)
from queuelog_core.http.call import Call, Reply
from queuelog_core.identity import ADMINS, AUTHORIZERS, PRODUCERS, READERS, WORKERS, Role

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
    levels_around: int = 0  # of the body, around what may be as deep as any other body
    query: type | None = None

    @property
    def authorizer(self) -> str | None:
        """The Lambda authorizer in front of the route; None where everybody may pass."""
        return next((name for name, roles in AUTHORIZERS.items() if roles == self.roles), None)


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
        name="batch",
        group="enqueue",
        method="POST",
        path="/jobs/batch",
        roles=PRODUCERS,
        endpoint=endpoints.batch,
        body=BatchBody,
        levels_around=2,
        summary="Enqueue many jobs; a bad one stops no other",
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
        endpoint=worker_endpoints.claim,
        body=ClaimBody,
        replies=(200, 204),
        summary="Claim the best due job",
    ),
    Route(
        name="redrive_many",
        group="operate",
        method="POST",
        path="/jobs/redrive",
        roles=ADMINS,
        endpoint=endpoints.redrive_many,
        body=RedriveManyBody,
        summary="Send failed or cancelled jobs on their way again, by filter",
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
        name="attempts",
        group="get",
        method="GET",
        path="/jobs/{id}/attempts",
        roles=READERS,
        endpoint=endpoints.attempts,
        summary="The newest ten attempts of a job",
    ),
    Route(
        name="complete",
        group="complete",
        method="POST",
        path="/jobs/{id}/complete",
        roles=WORKERS,
        endpoint=worker_endpoints.complete,
        body=CompleteBody,
        summary="Report a claimed job as done",
    ),
    Route(
        name="fail",
        group="fail",
        method="POST",
        path="/jobs/{id}/fail",
        roles=WORKERS,
        endpoint=worker_endpoints.fail,
        body=FailBody,
        summary="Report a claimed job as failed: it is retried while its budget lasts",
    ),
    Route(
        name="heartbeat",
        group="complete",
        method="POST",
        path="/jobs/{id}/heartbeat",
        roles=WORKERS,
        endpoint=worker_endpoints.heartbeat,
        body=HeartbeatBody,
        summary="Extend the lease of a claimed job",
    ),
    Route(
        name="release",
        group="fail",
        method="POST",
        path="/jobs/{id}/release",
        roles=WORKERS,
        endpoint=worker_endpoints.release,
        body=ReleaseBody,
        summary="Hand a claimed job back without spending a retry",
    ),
    Route(
        name="cancel",
        group="operate",
        method="POST",
        path="/jobs/{id}/cancel",
        roles=PRODUCERS,
        endpoint=endpoints.cancel,
        body=EmptyBody,
        replies=(200, 202),
        summary="End a pending job; ask a running one to stop",
    ),
    Route(
        name="redrive",
        group="operate",
        method="POST",
        path="/jobs/{id}/redrive",
        roles=ADMINS,
        endpoint=endpoints.redrive,
        body=EmptyBody,
        summary="Send a failed or cancelled job on its way again",
    ),
    Route(
        name="stats",
        group="list",
        method="GET",
        path="/stats",
        roles=WORKERS,
        endpoint=service_endpoints.stats,
        summary="Numbers of the queue, never by a full scan",
    ),
    Route(
        name="whoami",
        group="list",
        method="GET",
        path="/whoami",
        roles=READERS,
        endpoint=service_endpoints.whoami,
        summary="The identity behind the key and what it may do",
    ),
    Route(
        name="health",
        group="open",
        method="GET",
        path="/health",
        roles=OPEN,
        endpoint=service_endpoints.health,
        summary="Whether the store takes writes",
    ),
    Route(
        name="openapi",
        group="open",
        method="GET",
        path="/openapi.json",
        roles=OPEN,
        endpoint=service_endpoints.openapi,
        summary="This contract as OpenAPI 3.1",
    ),
)

GROUPS = tuple(dict.fromkeys(route.group for route in ROUTES))


def routes_of(group: str) -> tuple[Route, ...]:
    """The routes that one function serves."""
    return tuple(route for route in ROUTES if route.group == group)
