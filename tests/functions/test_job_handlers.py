"""What the handlers of email and pdf make of payloads, the odd and the hostile ones included."""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from functions.job_handlers import handlers
from tests.support.held import held_job

HEADERS = {
    "message-id",
    "from",
    "to",
    "subject",
    "content-type",
    "content-transfer-encoding",
    "mime-version",
}


def run(folder: Path, job_type: str, payload: Any, job_id: int = 7) -> Any:
    return handlers(folder)[job_type](held_job(job_type, payload, job_id))


def raw_email(folder: Path, **payload: Any) -> bytes:
    done = run(folder, "email", {"to": "ada@example.com", **payload})
    return Path(done["file"]).read_bytes()


def email(folder: Path, **payload: Any) -> EmailMessage:
    return message_from_bytes(raw_email(folder, **payload), EmailMessage, policy=SMTP)


def pdf_lines(folder: Path, **payload: Any) -> list[str]:
    done = run(folder, "pdf", payload)
    pages = PdfReader(done["file"]).pages
    assert len(pages) == done["pages"]
    return [line for page in pages for line in page.extract_text().splitlines()]


def test_an_email_is_one_message_file_named_after_its_job(tmp_path: Path) -> None:
    done = run(tmp_path, "email", {"to": "ada@example.com", "body": "Hi."}, job_id=12)

    assert done == {"file": str(tmp_path / "outbox" / "job-12.eml")}
    assert [path.name for path in (tmp_path / "outbox").iterdir()] == ["job-12.eml"]


def test_an_email_keeps_what_it_was_given(tmp_path: Path) -> None:
    message = email(
        tmp_path, **{"from": "shop@example.com"}, subject="Grüße 日本 😀", body="Ä\n.\n😀" * 99
    )

    assert (message["To"], message["From"]) == ("ada@example.com", "shop@example.com")
    assert message["Subject"] == "Grüße 日本 😀"
    assert message.get_content().splitlines() == ("Ä\n.\n😀" * 99).splitlines()


def test_an_email_run_twice_is_the_same_file(tmp_path: Path) -> None:
    first = raw_email(tmp_path, subject="Hello", body="It works.")

    second = raw_email(tmp_path, subject="Hello", body="It works.")

    assert first == second


@pytest.mark.parametrize("field", ["to", "from", "subject"])
@pytest.mark.parametrize(
    "text",
    [
        "x@example.com\nBcc: eve@example.com",
        "x@example.com\r\nBcc: eve@example.com\r\n\r\nanother body",
        "x@example.com\rBcc: eve@example.com",
        "x@example.com\x0bBcc: e\x0cBcc: e\x85Bcc: e\u2028Bcc: e\u2029Bcc: e",
        "=?utf-8?q?=0aBcc:_eve=40example.com?= <x@example.com>",
        "=?utf-8?b?DQpCY2M6IGV2ZUBleGFtcGxlLmNvbQ==?= <x@example.com>",
    ],
)
def test_no_field_of_an_email_can_add_a_header(tmp_path: Path, field: str, text: str) -> None:
    try:
        raw = raw_email(tmp_path, **{field: text, "body": "the body"})
    except ValueError:
        # Refusing such an address is right too, as long as nothing was written.
        assert list(tmp_path.rglob("*.eml")) == []
        return

    head, _, body = raw.partition(b"\r\n\r\n")
    assert b"\n" not in raw.replace(b"\r\n", b"")
    assert b"\r" not in raw.replace(b"\r\n", b"")
    names = [line.partition(b":")[0].lower() for line in head.split(b"\r\n") if line[:1] != b" "]
    assert sorted(name.decode() for name in names) == sorted(HEADERS)
    assert body == b"the body\r\n"


@pytest.mark.parametrize(
    ("payload", "subject", "body"),
    [
        ({}, "", ""),
        ({"subject": 5, "body": ["a", 1]}, "5", "['a', 1]"),
        ({"subject": True, "body": {"a": None}}, "True", "{'a': None}"),
    ],
)
def test_an_email_takes_values_that_are_no_text(
    tmp_path: Path, payload: dict[str, Any], subject: str, body: str
) -> None:
    message = email(tmp_path, **payload)

    assert (message["Subject"], message.get_content().strip()) == (subject, body)


def test_an_email_without_an_address_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        run(tmp_path, "email", {"subject": "Hello"})

    assert not (tmp_path / "outbox").exists()


def test_a_pdf_shows_title_and_text_over_as_many_pages_as_they_need(tmp_path: Path) -> None:
    lines = pdf_lines(tmp_path, title="Report", text="\n".join(f"line {n}" for n in range(200)))

    assert lines == ["Report", *(f"line {n}" for n in range(200))]
    pages = PdfReader(tmp_path / "pdf" / "job-7.pdf").pages
    assert len(pages) == 5
    assert pages[4].extract_text().splitlines()[-1] == "line 199"


def test_a_pdf_wraps_long_text_and_loses_no_word(tmp_path: Path) -> None:
    words = [f"word{n}" for n in range(500)]

    lines = pdf_lines(tmp_path, title="Report", text=" ".join(words))

    assert " ".join(lines[1:]).split() == words
    assert max(map(len, lines)) < 120


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Größe: 5 € – naïve", "Größe: 5 € – naïve"),
        ("日本", "??"),
        ("a😀b", "a?b"),
        ("a\x00b\x1bc\x7fd", "a?b?c?d"),
        ("a\u200bb", "a?b"),
        (r"(\) %PDF", r"(\) %PDF"),
        ("a\tb", "a b"),
        ("a\u00a0b", "a b"),
        ("a\r\n", "a"),
    ],
)
def test_a_pdf_replaces_what_its_font_lacks(tmp_path: Path, text: str, shown: str) -> None:
    lines = pdf_lines(tmp_path, title="Report", text=text)

    assert [" ".join(line.split()) for line in lines] == ["Report", shown]


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        ({}, ["Untitled"]),
        ({"title": 5, "text": 1.5}, ["5", "1.5"]),
        ({"title": ["a"], "text": {"b": True}}, ["['a']", "{'b': True}"]),
        ({"title": "", "text": "alone"}, ["alone"]),
        ({"title": "", "text": ""}, []),
        ({"title": "\n\n", "text": "\n\n\n"}, []),
    ],
)
def test_a_pdf_is_made_from_any_values(
    tmp_path: Path, payload: dict[str, Any], shown: list[str]
) -> None:
    lines = pdf_lines(tmp_path, **payload)

    assert [line for line in lines if line.strip()] == shown


def test_a_pdf_breaks_a_word_that_is_wider_than_its_page(tmp_path: Path) -> None:
    lines = pdf_lines(tmp_path, title="Long", text="x" * 500)

    assert max(len(line) for line in lines) < 150
    assert "".join(lines[1:]) == "x" * 500


def test_a_pdf_run_twice_is_the_same_file_and_nothing_else(tmp_path: Path) -> None:
    first = Path(run(tmp_path, "pdf", {"text": "Hello"})["file"]).read_bytes()

    second = Path(run(tmp_path, "pdf", {"text": "Hello"})["file"]).read_bytes()

    assert first == second
    assert [path.name for path in (tmp_path / "pdf").iterdir()] == ["job-7.pdf"]
