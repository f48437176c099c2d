"""The handlers of a deployment: email by SES, pdf and sync in a bucket; AWS is imitated here."""

from collections.abc import Callable, Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from pypdf import PdfReader

from functions.job_handlers import aws, handlers
from queuelog_core.worker import Discard, HeldJob
from tests.functions.cloud import BUCKET, SENDER, Cloud, cloud
from tests.support.held import held_job
from tests.support.secrets_manager import REGION

ADA = "ada@example.com"
PHOTOS = {"source": "photos", "target": "copy"}


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with cloud() as there:
        yield there


def run(folder: Path, job: HeldJob, *, bucket: str | None = BUCKET) -> Any:
    done = handlers(folder, bucket=bucket, sender=SENDER)[job.type](job)
    assert list(folder.iterdir()) == [], "nothing is written beside the bucket"
    return done


def sent(there: Cloud) -> EmailMessage:
    (message,) = there.sent()
    return message_from_bytes(message.raw_data.encode(), EmailMessage, policy=SMTP)


def test_an_email_is_sent_from_the_senders_address_whatever_the_payload_says(
    there: Cloud, tmp_path: Path
) -> None:
    payload = {"to": ADA, "from": "ceo@example.com", "subject": "Hello", "body": "It works."}

    done = run(tmp_path, held_job("email", payload))

    (message,) = there.sent()
    assert done == {"message_id": message.id}
    assert (message.source, message.destinations) == (SENDER, [ADA])
    assert sent(there)["From"] == SENDER
    assert "ceo@example.com" not in message.raw_data


def test_an_email_arrives_as_it_was_written(there: Cloud, tmp_path: Path) -> None:
    payload = {"to": ADA, "subject": "Grüße 日本 😀", "body": "Ä\n.\n😀"}

    run(tmp_path, held_job("email", payload))

    message = sent(there)
    assert (message["To"], message["Subject"]) == (ADA, "Grüße 日本 😀")
    assert message.get_content().splitlines() == ["Ä", ".", "😀"]
    assert message["Message-ID"] == "<job-7@queuelog.invalid>"


@pytest.mark.parametrize("field", ["to", "subject"])
def test_no_field_of_an_email_adds_a_header(there: Cloud, tmp_path: Path, field: str) -> None:
    payload = {"to": ADA, "subject": "Hello"}
    payload[field] += "\r\nBcc: eve@example.com\r\n\r\nanother body"
    try:
        run(tmp_path, held_job("email", payload))
    except (ValueError, ClientError):
        assert field == "to"
        assert there.sent() == []
        return

    message = sent(there)
    assert "Bcc" not in message
    assert message.get_content().strip() == ""


def test_an_email_run_twice_is_the_same_message(there: Cloud, tmp_path: Path) -> None:
    """SES sends it twice, and readers' programs see by its id that it is one."""
    for _ in range(2):
        run(tmp_path, held_job("email", {"to": ADA, "body": "Hello"}))

    first, second = there.sent()
    assert first.raw_data == second.raw_data


def test_a_sender_that_ses_does_not_know_is_a_failed_job(there: Cloud, tmp_path: Path) -> None:
    with pytest.raises(ClientError, match="MessageRejected"):
        handlers(tmp_path, sender="eve@example.com")["email"](held_job("email", {"to": ADA}))

    assert there.sent() == []


def test_a_pdf_is_one_object_named_after_its_job_however_often_it_runs(
    there: Cloud, tmp_path: Path
) -> None:
    job = held_job("pdf", {"title": "Report", "text": "It works."}, job_id=12)

    done = [run(tmp_path, job) for _ in range(2)]

    assert done == [{"file": f"s3://{BUCKET}/pdf/job-12.pdf", "pages": 1}] * 2
    (data,) = there.objects().values()
    assert PdfReader(BytesIO(data)).pages[0].extract_text().splitlines() == ["Report", "It works."]
    head = there.s3.head_object(Bucket=BUCKET, Key="pdf/job-12.pdf")
    assert head["ContentType"] == "application/pdf"


def test_sync_copies_a_prefix_and_leaves_its_source_and_neighbours(
    there: Cloud, tmp_path: Path
) -> None:
    there.put("sync/photos/2026/ada.txt", "sync/photos/grace.txt", "sync/photos-old/x", "other/y")
    before = there.objects()

    done = [run(tmp_path, held_job("sync", PHOTOS)) for _ in range(2)]

    copied = {
        "sync/copy/2026/ada.txt": b"sync/photos/2026/ada.txt",
        "sync/copy/grace.txt": b"sync/photos/grace.txt",
    }
    assert there.objects() == before | copied
    assert done == [{"files": 2, "bytes": sum(map(len, copied.values()))}] * 2


def test_sync_copies_more_objects_than_one_page_lists(
    there: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3 lists a thousand a page; the imitation does with ten."""
    there.put(*(f"sync/photos/{number:02}" for number in range(25)))
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "10")

    assert run(tmp_path, held_job("sync", PHOTOS))["files"] == 25

    assert len(there.objects("sync/copy/")) == 25


@pytest.mark.parametrize("field", ["source", "target"])
@pytest.mark.parametrize(
    "path", ["", "/", ".", "..", "../pdf", "photos/../../pdf", "/../pdf", "./..", "a//../b"]
)
def test_sync_refuses_a_path_that_leads_out_of_the_prefix(
    there: Cloud, tmp_path: Path, field: str, path: str
) -> None:
    there.put("sync/photos/a", "pdf/secret", "secret")
    before = there.objects()

    with pytest.raises(ValueError, match="outside the sync folder"):
        run(tmp_path, held_job("sync", {**PHOTOS, field: path}))

    assert there.objects() == before


@pytest.mark.parametrize("source", ["/photos", "photos/", "./photos", "//photos//", "photos/."])
def test_sync_takes_a_path_in_any_spelling_as_the_one_inside_its_prefix(
    there: Cloud, tmp_path: Path, source: str
) -> None:
    there.put("sync/photos/a", "photos/secret")

    run(tmp_path, held_job("sync", {**PHOTOS, "source": source}))

    assert [*there.objects("sync/copy/")] == ["sync/copy/a"]


@pytest.mark.parametrize("target", ["photos", "photos/copy", "./photos/2026"])
def test_sync_refuses_a_target_inside_its_source(there: Cloud, tmp_path: Path, target: str) -> None:
    there.put("sync/photos/a")

    with pytest.raises(ValueError, match="inside the source"):
        run(tmp_path, held_job("sync", {**PHOTOS, "target": target}))

    assert [*there.objects()] == ["sync/photos/a"]


@pytest.mark.parametrize("source", ["nothing", "photos/a", "phot"])
def test_sync_needs_something_to_copy(there: Cloud, tmp_path: Path, source: str) -> None:
    there.put("sync/photos/a")

    with pytest.raises(FileNotFoundError):
        run(tmp_path, held_job("sync", {**PHOTOS, "source": source}))


@pytest.mark.parametrize("stop", [HeldJob.ask_to_cancel, HeldJob.lose], ids=["cancel", "lost"])
def test_sync_stops_in_the_middle_and_what_was_copied_stays(
    there: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: Callable[[HeldJob], None]
) -> None:
    there.put(*(f"sync/photos/{number}" for number in range(5)))
    job = held_job("sync", PHOTOS)
    s3 = aws.client("s3")
    copy = s3.copy

    def copy_then_stop(*arguments: Any) -> None:
        copy(*arguments)
        if arguments[-1].endswith("/1"):
            stop(job)

    monkeypatch.setattr(s3, "copy", copy_then_stop)

    with pytest.raises(Discard) as raised:
        run(tmp_path, job)

    assert raised.value.code == "cancelled"
    assert [*there.objects("sync/copy/")] == ["sync/copy/0", "sync/copy/1"]

    monkeypatch.setattr(s3, "copy", copy)
    assert run(tmp_path, held_job("sync", PHOTOS)) == {"files": 5, "bytes": 65}


@pytest.mark.parametrize(
    ("job_type", "payload"), [("pdf", {"text": "Hello"}), ("sync", PHOTOS)], ids=["pdf", "sync"]
)
def test_a_bucket_that_does_not_exist_is_a_failed_job(
    there: Cloud, tmp_path: Path, job_type: str, payload: Any
) -> None:
    with pytest.raises(ClientError, match="NoSuchBucket"):
        run(tmp_path, held_job(job_type, payload), bucket="nowhere")
