"""One run of schemathesis over a server: its settings, its hooks, and an account of the answers."""

import itertools
import os
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import schemathesis
from hypothesis.errors import HypothesisWarning
from schemathesis import BaseSchema, Case, HookContext, Response
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import Failure
from schemathesis.engine import events, from_schema
from schemathesis.generation.stateful.state_machine import APIStateMachine
from schemathesis.transport.wsgi import WSGI_TRANSPORT, WSGITransport

from queuelog_core.http.routes import ROUTES
from tests.fuzz.schema_callers import ManyCallers
from tests.fuzz.schema_cases import add_directed, mix_real_values
from tests.fuzz.schema_checks import CHECKS, is_a_fault
from tests.fuzz.schema_server import Server

SEED = int(os.environ.get("QUEUELOG_FUZZ_SEED", "1"))
CASES = int(os.environ.get("QUEUELOG_FUZZ_CASES", "1000"))
PHASES = ("examples", "coverage", "fuzzing", "stateful")
_NAME = 25
# As a rule; all examples of the other phases are spread over the routes.
_STORY_REQUESTS = 6


@dataclass
class Account:
    """What a run saw. `answers` counts by method, path and status; `checked` by check."""

    answers: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    phases: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, event: events.EngineEvent) -> None:
        """Take in what the engine tells at the end of a scenario, and its own troubles."""
        if isinstance(event, events.NonFatalError):
            self.faults.append(f"{event.label}: {event.value!r}")
        elif isinstance(event, events.ScenarioFinished):
            recorder = event.recorder
            for case_id, interaction in recorder.interactions.items():
                assert interaction.response is not None
                case, status = recorder.cases[case_id].value, interaction.response.status_code
                self.answers[case.method, case.path, status] += 1
                self.phases[event.phase.value] += 1
                for check in recorder.checks.get(case_id, []):
                    self.checked[check.name] += 1
                    if (found := check.failure_info) is not None:
                        parts = (check.name, found.failure.message, found.code_sample)
                        body = interaction.response.content[:500]
                        self.faults.append("\n".join((*parts, f"{status} {body!r}")))

    def table(self) -> list[str]:
        """A line for each route: how many answers of each status."""
        phases = ", ".join(f"{count} {name}" for name, count in self.phases.items())
        statuses = sorted({status for _, _, status in self.answers})
        rows: dict[str, Counter[int]] = {f"{r.method} {r.path}": Counter() for r in ROUTES}
        rows["other methods"] = Counter()
        for (method, path, status), count in self.answers.items():
            rows.get(f"{method} {path}", rows["other methods"])[status] += count
        return [
            f"{self.answers.total()} cases ({phases}), {len(self.faults)} faults",
            " " * _NAME + "".join(f"{status:6}" for status in statuses),
            *(
                f"{name:{_NAME}}" + "".join(f"{row[status] or '-':>6}" for status in statuses)
                for name, row in rows.items()
            ),
        ]


RUNS: dict[str, Account] = {}


class _InProcess(WSGITransport):
    """The engine's probes bring settings of sockets, which Werkzeug's client does not know."""

    def send(self, case: Case, *, session: Any = None, **kwargs: Any) -> Response:
        for name in ("max_redirects", "verify", "cert"):
            kwargs.pop(name, None)
        return super().send(case, session=session, **kwargs)


def fuzz(
    title: str,
    server: Server,
    phases: list[str],
    *,
    cases: int,
    callers: type[ManyCallers] = ManyCallers,
) -> Account:
    """Run these phases; the drawn ones make about `cases` requests. RUNS keeps the account."""
    account = RUNS[title] = Account()
    transport = _InProcess()
    transport._copy_serializers_from(WSGI_TRANSPORT)
    made = itertools.count()
    begin = APIStateMachine.__init__

    def begin_anew(story: APIStateMachine) -> None:
        # A story that went another way when it is told again would end the run.
        server.reseed()
        begin(story)

    with (
        # Made-up values are taken from answers, too, and the ids of requests would be others.
        patch("secrets.token_hex", lambda size: f"{next(made):0{2 * size}x}"),
        patch("schemathesis.transport.wsgi.WSGI_TRANSPORT", transport),
        patch.object(APIStateMachine, "__init__", begin_anew),
        warnings.catch_warnings(action="ignore", category=HypothesisWarning),
    ):
        config = SchemathesisConfig.from_dict(_settings(phases, cases))
        schema = schemathesis.openapi.from_wsgi("/openapi.json", server, config=config)
        _hook(schema, server)
        schema.auth.providers.append(callers(server.keys))
        # Unless it is named, the route of the document itself is left out.
        for event in from_schema(schema.include(path_regex=".*")).execute():
            account.add(event)
    server.close()
    return account


def _settings(phases: list[str], cases: int) -> dict[str, Any]:
    is_a_story = phases == ["stateful"]
    requests = _STORY_REQUESTS if is_a_story else len(ROUTES)
    generation = {"max-examples": -(-cases // requests), "database": "none"}
    settings = {
        "seed": SEED,
        "workers": 1,
        "continue-on-failure": True,
        # Literals of the source would come in the order of a set, another one in each process.
        "analysis": {"constants": {"enabled": False}},
        # They judge the machine, too.
        "suppress-health-check": ["all"],
        "generation": generation,
        "phases": {name: {"enabled": name in phases} for name in PHASES},
        "checks": CHECKS,
        # A reproduction needs the keys, and they are good for this run only.
        "output": {"sanitization": {"enabled": False}},
    }
    if is_a_story:
        # A wrong request ends a story, and only steps whose parameters are all given by the one
        # before are held against it.
        settings["generation"] = generation | {"mode": "positive"}
        settings["parameters"] = {"X-Request-Id": "story"}
    return settings


def _hook(schema: BaseSchema, server: Server) -> None:
    def map_case(context: HookContext, case: Case) -> Case:
        return mix_real_values(server, case)

    def before_add_examples(context: HookContext, examples: list[Case]) -> None:
        add_directed(server, context, examples)

    def filter_failure(
        context: HookContext, failure: Failure, case: Case, response: Response
    ) -> bool:
        return is_a_fault(failure, case, response)

    for hook in (map_case, before_add_examples, filter_failure):
        schema.hook(hook)
