"""What redaction costs: a typical error text, and 64 kB that were made to keep the rules busy.

Run with `python -m tests.benchmarks.redaction`. Times are of the processor.
"""

import random
import statistics
import time
from collections.abc import Iterator

from queuelog_core.redact import redact_error, scrub
from queuelog_core.redact_rules import RULES
from tests.redaction.corpus import load

HOSTILE_CHARS = 65_536
ROUNDS, TYPICAL_ROUNDS = 5, 300
SHOWN = 12
PIECES = (  # noqa: SIM905
    "password|password=|password: |password |secret key |api_key_|token|token: |passphrase: a|eyJ"
    "|eyJaaaaaaaa.|:|: |=|a:|://|://a:|://a@|://a:b@|@|a@|a:a@|%3a%2f%2f|%25|&quot;|&amp;|cookie: "
    '|cookie: a=|bearer |authorization: |authorization: a b=|"|\'|\\|\\"|\\u0070|1|1 |4242 '
    "|0123456789abcdef|-----BEGIN |-----BEGIN PRIVATE KEY-----|-"
    "|--|--password |-u a:|mysql |mysql -p"
    "|sk-|pat|x.|$2b$|{|(|[|<|>|<password>|<password |name=password|/user:|//hooks.a/|/reset/"
    '|user a pass |key |key a|login a "|a |a\n| |\t|\n|\r\n|\u0130|密码|密码：|auth |auth a '
    "|[redacted:x]=|thin:|a/a@|a.b:1:|password %252520|secret%2525253D|password \\\\\\\\n"
    "|secret key &amp;amp;amp;|password for a |is is "
).split("|")


def hostile_texts() -> Iterator[tuple[str, str]]:
    """A name and a text of 64 kB for every kind of attack on the rules."""
    for piece in PIECES:
        yield repr(piece), piece * (HOSTILE_CHARS // len(piece))
    needles = " ".join(dict.fromkeys(needle for rule in RULES for needle in rule.needles))
    # Every rule runs, in every layer: what is repeated, all needles, an escape in an escape.
    tail = f"{needles} %2525253D "
    for piece in (*PIECES, "7z;"):
        yield (
            f"all needles, {piece!r}",
            (piece * 16_384)[: 14_000 - len(tail)] + tail + "x" * 51_536,
        )
    for rule in RULES:
        half = rule.example[: -(len(rule.example) // 2)]
        for part in (rule.example, half, rule.example + " ", half + " "):
            yield f"{rule.name}: {part!r}"[:60], part * (HOSTILE_CHARS // len(part))
        start = rule.example[:6]
        yield f"unfinished {rule.name}", start + "a" * (HOSTILE_CHARS - len(start))
    source = random.Random(7)
    yield "random bytes", source.randbytes(HOSTILE_CHARS).decode("latin-1")
    yield "random base64", "".join(source.choices("abcXYZ019+/=", k=HOSTILE_CHARS))
    yield "random marks", "".join(source.choices("\"'\\:=@/ &%;,[](){}<>-_.", k=HOSTILE_CHARS))
    words = [rule.example for rule in RULES] + ["password", "token", ":", "=", " ", '"', "\\", "@"]
    yield "random words", "".join(source.choices(words, k=HOSTILE_CHARS))[:HOSTILE_CHARS]


def milliseconds(text: str, rounds: int, whole: bool) -> list[float]:
    """What each round took; `whole` scrubs all of the text, not the part that the product reads."""
    spent = []
    for _ in range(rounds):
        started = time.process_time()
        scrub(text) if whole else redact_error(text)
        spent.append((time.process_time() - started) * 1e3)
    return spent


def measure() -> tuple[float, float]:
    """Medians in ms: a typical text of 300 bytes, and the slowest hostile one of 64 kB."""
    texts = [sample.text[:300].ljust(300) for sample in load("development")]
    typical = [ms for text in texts for ms in milliseconds(text, ROUNDS, whole=False)]
    hostile = (milliseconds(text, ROUNDS, whole=False) for _, text in hostile_texts())
    return statistics.median(typical), max(map(statistics.median, hostile))


def main() -> None:
    for whole in (False, True):
        rows = []
        for name, text in hostile_texts():
            spent = milliseconds(text, ROUNDS, whole)
            rows.append((statistics.median(spent), max(spent), name))
        what = "scrubbed whole" if whole else "as an error text (the first 16 kB count)"
        print(f"\n64 kB {what}, the slowest of {len(rows)}: p50 ms, max ms")
        for median, most, name in sorted(rows, reverse=True)[:SHOWN]:
            print(f"{median:9.2f} {most:9.2f}  {name}")
    for name in ("benign_development", "development"):
        texts = [sample.text[:300].ljust(300) for sample in load(name)]
        spent = [ms for text in texts for ms in milliseconds(text, 5, whole=False)]
        cuts = statistics.quantiles(spent, n=100)
        print(f"\n300 bytes of {name}: p50 {cuts[49]:.3f} ms, p99 {cuts[98]:.3f} ms")


if __name__ == "__main__":
    main()
