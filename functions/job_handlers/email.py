"""email: writes one message file an email into an outbox folder.

Payload: {"to", "subject"?, "body"?, "from"?}. Running it twice writes the same file.
"""

from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any, NoReturn

from queuelog_core.worker import HeldJob

HEADER_CHARS_MAX = 998


def run(job: HeldJob, folder: Path) -> dict[str, Any]:
    """Returns {"file"}. Raises KeyError without an address."""
    payload = job.payload
    message = EmailMessage(policy=SMTP)
    message["Message-ID"] = f"<job-{job.id}@queuelog.invalid>"
    message["From"] = _one_line(payload.get("from", "queuelog@queuelog.invalid"))
    message["To"] = _one_line(payload["to"] or _refuse("there is no address"))
    message["Subject"] = _one_line(payload.get("subject", ""))
    message.set_content(str(payload.get("body", "")))
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"job-{job.id}.eml"
    fresh = target.with_suffix(".new")
    fresh.write_bytes(message.as_bytes())
    fresh.replace(target)
    return {"file": str(target)}


def _one_line(value: object) -> str:
    """A line break would start another header, also one that an encoded word hides (`=?…?=`)."""
    line = " ".join(str(value).replace("=?", "= ?").split())
    return line if len(line) <= HEADER_CHARS_MAX else _refuse("a header is too long")


def _refuse(reason: str) -> NoReturn:
    raise ValueError(reason)
