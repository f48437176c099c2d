"""email: sends a message by SES, or writes it into an outbox folder.

Payload: {"to", "subject"?, "body"?, "from"?}. However often the job runs there is
one file; SES may send a message twice.
"""

from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any, NoReturn

from functions.job_handlers.aws import client
from queuelog_core.worker import HeldJob

HEADER_CHARS_MAX = 998


def run(job: HeldJob, folder: Path, sender: str | None = None) -> dict[str, Any]:
    """Returns {"file"}, or {"message_id"} of SES. Raises KeyError without an address."""
    message = _message(job, sender)
    if sender is not None:
        sent = client("sesv2").send_email(
            FromEmailAddress=sender, Content={"Raw": {"Data": message.as_bytes()}}
        )
        return {"message_id": sent["MessageId"]}
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"job-{job.id}.eml"
    fresh = target.with_suffix(".new")
    fresh.write_bytes(message.as_bytes())
    fresh.replace(target)
    return {"file": str(target)}


def _message(job: HeldJob, sender: str | None) -> EmailMessage:
    """SES sends only from the address that it knows, whatever the payload says."""
    payload = job.payload
    message = EmailMessage(policy=SMTP)
    message["Message-ID"] = f"<job-{job.id}@queuelog.invalid>"
    message["From"] = _one_line(sender or payload.get("from", "queuelog@queuelog.invalid"))
    message["To"] = _one_line(payload["to"] or _refuse("there is no address"))
    message["Subject"] = _one_line(payload.get("subject", ""))
    message.set_content(str(payload.get("body", "")))
    return message


def _one_line(value: object) -> str:
    """A line break would start another header, also one that an encoded word hides (`=?…?=`)."""
    line = " ".join(str(value).replace("=?", "= ?").split())
    return line if len(line) <= HEADER_CHARS_MAX else _refuse("a header is too long")


def _refuse(reason: str) -> NoReturn:
    raise ValueError(reason)
