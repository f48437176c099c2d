"""pdf: writes a PDF file with a title and wrapped text into a folder or an S3 bucket.

Payload: {"title"?, "text"?}. Characters that the built-in font lacks are shown as question marks.
"""

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from functions.job_handlers.aws import client
from queuelog_core.worker import HeldJob

FONT, SIZE, LEADING, MARGIN = "Helvetica", 11, 15, 56


def run(job: HeldJob, folder: Path, bucket: str | None = None) -> dict[str, Any]:
    """Returns {"file", "pages"}: a path, or an s3:// address. Running it twice writes the same."""
    data, pages = _drawn(job.payload)
    if bucket is not None:
        key = f"pdf/job-{job.id}.pdf"
        client("s3").put_object(Bucket=bucket, Key=key, Body=data, ContentType="application/pdf")
        return {"file": f"s3://{bucket}/{key}", "pages": pages}
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"job-{job.id}.pdf"
    fresh = target.with_suffix(".new")
    fresh.write_bytes(data)
    fresh.replace(target)
    return {"file": str(target), "pages": pages}


def _drawn(payload: Mapping[str, Any]) -> tuple[bytes, int]:
    """The file and its number of pages."""
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    drawn = io.BytesIO()
    width, height = A4
    canvas = Canvas(drawn, pagesize=A4, invariant=True)
    title = _in_font(payload.get("title", "Untitled"))
    canvas.setTitle(title)
    lines = [*_wrapped(title, width), "", *_wrapped(_in_font(payload.get("text", "")), width)]
    per_page = int((height - 2 * MARGIN) // LEADING)
    for start in range(0, len(lines), per_page):
        canvas.setFont(FONT, SIZE)
        for row, line in enumerate(lines[start : start + per_page]):
            canvas.drawString(MARGIN, height - MARGIN - row * LEADING, line)
        canvas.showPage()
    canvas.save()
    return drawn.getvalue(), -(-len(lines) // per_page)


def _in_font(value: object) -> str:
    """The built-in fonts know Windows-1252."""
    plain = "\n".join(str(value).replace("\xa0", " ").expandtabs(4).splitlines())
    text = plain.encode("cp1252", "replace").decode("cp1252", "replace")
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)


def _wrapped(text: str, width: float) -> Iterator[str]:
    from reportlab.lib.utils import simpleSplit

    room = width - 2 * MARGIN
    for paragraph in text.split("\n"):
        for line in simpleSplit(paragraph, FONT, SIZE, room) or [""]:
            yield from _broken(line, room)


def _broken(line: str, room: float) -> Iterator[str]:
    """A word that is wider than the page goes on in the next line."""
    from reportlab.pdfbase.pdfmetrics import stringWidth

    while stringWidth(line, FONT, SIZE) > room:
        fitting = max(1, int(len(line) * room / stringWidth(line, FONT, SIZE)))
        while fitting > 1 and stringWidth(line[:fitting], FONT, SIZE) > room:
            fitting -= 1
        yield line[:fitting]
        line = line[fitting:]
    yield line
