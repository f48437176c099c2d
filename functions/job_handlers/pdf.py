"""pdf: writes a PDF file with a title and wrapped text.

Payload: {"title"?, "text"?}. Characters that the built-in font lacks are shown as question marks.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from queuelog_core.worker import HeldJob

FONT, SIZE, LEADING, MARGIN = "Helvetica", 11, 15, 56


def run(job: HeldJob, folder: Path) -> dict[str, Any]:
    """Returns {"file", "pages"}."""
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    payload = job.payload
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"job-{job.id}.pdf"
    fresh = target.with_suffix(".new")
    width, height = A4
    canvas = Canvas(str(fresh), pagesize=A4, invariant=True)
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
    fresh.replace(target)
    return {"file": str(target), "pages": -(-len(lines) // per_page)}


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
