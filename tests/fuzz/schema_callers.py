"""Whose key a request has: of every role and kind, the fitting one most often."""

from random import Random
from zlib import crc32

from schemathesis import AuthContext, Case
from schemathesis.core import NotSet
from schemathesis.wfc.escalation import EscalatingAuthProvider

from queuelog_core.http.routes import ROUTES
from queuelog_core.identity import ADMINS, WORKERS, Role
from tests.fuzz.schema_server import IDENTITIES

KEY = "X-API-Key"
PEERS = tuple(identity.name for identity in IDENTITIES if identity.role is Role.PRODUCER)
FITTING = {
    f"{route.method} {route.path}": {WORKERS: "mailer", ADMINS: "root"}.get(route.roles, "shop")
    for route in ROUTES
}
# Drawn evenly, most requests would end at their key.
_FITTING_SHARE = 0.6


class OneCaller:
    """Sends one key, or none."""

    def __init__(self, key: str | None) -> None:
        self.key = key

    def get(self, _case: Case, _context: AuthContext) -> str:
        return ""

    def set(self, case: Case, _data: str, _context: AuthContext) -> None:
        if self.key is None:
            case.headers.pop(KEY, None)
        else:
            case.headers[KEY] = self.key


class ManyCallers(EscalatingAuthProvider):
    """Draws a caller for each request; peers are those who must not see each other's jobs."""

    def __init__(self, keys: dict[str, str | None]) -> None:
        super().__init__([OneCaller(key) for key in keys.values()], list(keys), peers=PEERS)
        # The parent adds a caller without a key; ours is among the keys.
        del self.providers[1], self.names[1]

    def get(self, case: Case, _context: AuthContext) -> str:
        return self.choose(case)

    def set(self, case: Case, data: str, context: AuthContext) -> None:
        case._auth_identity = data
        self.provider_for(data).set(case, "", context)

    def record(self, label: str, identity: str | None, status_code: int) -> None:
        """A refusal teaches nothing here: everybody goes on calling everything."""

    def choose(self, case: Case) -> str:
        random = chance(case, "caller")
        return fitting(case) if random.random() < _FITTING_SHARE else random.choice(self.names)


class FittingCallers(ManyCallers):
    """Lets those call who may, so that one step leads to the next."""

    def choose(self, case: Case) -> str:
        return fitting(case)


def fitting(case: Case) -> str:
    """Workers claim, report and read the numbers, an admin redrives; a producer does the rest."""
    return FITTING[case.operation.label]


def chance(case: Case, purpose: str) -> Random:
    """The same for the same request in every run with a seed; keys differ from run to run."""
    headers = {name: text for name, text in case.headers.items() if name != KEY}
    body = None if isinstance(case.body, NotSet) else case.body
    parts = (purpose, case.operation.label, case.path_parameters, case.query, headers, body)
    return Random(crc32(repr(parts).encode("utf-8", "surrogatepass")))
