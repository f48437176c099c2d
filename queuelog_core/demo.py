"""The demo of `queuelog serve --demo`: sample keys made once and kept, and the banner."""

import logging
import os
import re
from pathlib import Path

from queuelog_core.identity import Identity, Role
from queuelog_core.job import Priority
from queuelog_core.key_registry import KeyRegistry

RUNNER = "DEMO_RUNNER_KEY"
_SAMPLES = {
    "PRODUCER_KEY": ("demo-producer", Role.PRODUCER, Priority.HIGH),
    "WORKER_KEY": ("demo-worker", Role.WORKER, Priority.MEDIUM),
    "ADMIN_KEY": ("demo-admin", Role.ADMIN, Priority.CRITICAL),
    RUNNER: ("demo-runner", Role.WORKER, Priority.MEDIUM),
}
_LINE = re.compile(r"([A-Z_]+)=(\S+)")


def sample_keys(registry: KeyRegistry, path: Path, url: str) -> dict[str, str]:
    """The demo's keys by variable name, kept in a 0600 file that a shell can source."""
    kept = dict(_LINE.findall(path.read_text("utf-8"))) if path.exists() else {}
    keys = {
        variable: kept[variable]
        if variable in kept and registry.identify(kept[variable])
        else _fresh_key(registry, *sample)
        for variable, sample in _SAMPLES.items()
    }
    text = "".join(f"{name}={value}\n" for name, value in {"QUEUELOG_URL": url, **keys}.items())
    fresh = path.with_name(path.name + ".new")
    descriptor = os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(path)
    return keys


def _fresh_key(registry: KeyRegistry, name: str, role: Role, priority_max: Priority) -> str:
    """A new key; those of the same name are of no use to anybody once their text is lost."""
    for record in registry.records():
        if record.name == name and record.revoked_at is None:
            registry.revoke(record.id)
    return registry.create(name, role, priority_max=priority_max)[1]


def leave_polling_out_of_the_log(runner: Identity | None) -> None:
    """The demo's worker asks every second; those lines would bury everybody else's."""

    def is_wanted(record: logging.LogRecord) -> bool:
        fields = getattr(record, "fields", {})
        own = runner is not None and fields.get("key_id") == runner.key_id
        return not (own and fields.get("jobs") == 0)

    logging.getLogger("queuelog_core.http.app").addFilter(is_wanted)


def banner(
    url: str,
    keys: dict[str, str],
    folder: Path,
    runs: str = "the demo worker runs it within a second or two",
    ends: str = "Ctrl-C stops the server; a running job has half a minute to end.",
) -> str:
    """What to try, with commands that work when pasted; `runs` and `ends` tell who runs jobs and
    how it stops."""
    producer, admin = keys["PRODUCER_KEY"], keys["ADMIN_KEY"]
    sample = (
        '{"type":"email","payload":{"to":"ada@example.com","subject":"Hello","body":"It works."}}'
    )
    return f"""
queuelog serves {url}

  producer  {producer}
  worker    {keys["WORKER_KEY"]}
  admin     {admin}
  (kept in {folder}/demo.env with the address; data and what the worker makes lie there too)

Enqueue a job; {runs}:

  curl -s {url}/jobs -H 'X-API-Key: {producer}' -H 'Content-Type: application/json' -d '{sample}'

See it completed, and the message it wrote in {folder}/outbox:

  curl -s '{url}/jobs?limit=1' -H 'X-API-Key: {producer}'

Numbers:

  curl -s {url}/stats -H 'X-API-Key: {admin}'

{ends} The data stays.
"""
