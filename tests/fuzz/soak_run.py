"""`make soak`: every target for some time under a fuzzer that follows coverage.

    python -m tests.fuzz.soak_run SECONDS [TARGET ...]

Below .soak/, each target keeps its log, the corpus that it grew, and the inputs that broke a
property; those are tried first the next time.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tests.support.http import ROOT

TARGETS = {"body": 8192, "cursor": 4096, "key": 4096, "redactor": 1024, "adapter": 256}
"""Their names and the longest input in bytes."""
INPUT_SECONDS_MAX = 10
FOLDER = Path(".soak")
_INTERRUPTED = 72  # libFuzzer's own status, and what we give a child that Ctrl-C ended otherwise


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one target; `found` are the files of inputs that broke a property."""

    status: int
    runs: int
    runs_per_second: int
    coverage: int
    corpus_new: int
    found: tuple[str, ...]


def outcome_of(status: int, log: str) -> Outcome:
    """Read from what libFuzzer says as it goes and at its end."""

    def last(*patterns: str) -> int:
        found = (re.findall(pattern, log, re.MULTILINE) for pattern in patterns)
        return next((int(numbers[-1]) for numbers in found if numbers), 0)

    return Outcome(
        status=status,
        # After Ctrl-C there is no summary.
        runs=last(r"::number_of_executed_units: +(\d+)", r"^#(\d+)\s"),
        runs_per_second=last(r"::average_exec_per_sec: +(\d+)", r" exec/s: (\d+)"),
        coverage=last(r" cov: (\d+) "),
        corpus_new=last(r"::new_units_added: +(\d+)"),
        found=tuple(re.findall(r"Test unit written to (.+)", log)),
    )


def run(target: str, seconds: int) -> Outcome:
    """Fuzz one target in a process of its own, for libFuzzer ends the process that it runs in."""
    folder = FOLDER / target
    for name in ("seeds", "corpus", "found"):
        (ROOT / folder / name).mkdir(parents=True, exist_ok=True)
    module = import_module(f"tests.fuzz.soak_{target}")
    for number, seed in enumerate(module.SEEDS):
        (ROOT / folder / "seeds" / str(number)).write_bytes(seed)
    tokens = ("".join(f"\\x{byte:02x}" for byte in token) for token in module.DICTIONARY)
    (ROOT / folder / "dictionary").write_text("".join(f'"{token}"\n' for token in tokens), "utf-8")
    options = [
        *(f"-max_total_time={seconds}", f"-timeout={INPUT_SECONDS_MAX}", "-print_final_stats=1"),
        "-entropic_scale_per_exec_time=1",
        *(f"-max_len={TARGETS[target]}", f"-dict={folder}/dictionary"),
        *(f"-artifact_prefix={folder}/found/", f"{folder}/corpus"),
        *(f"{folder}/seeds", f"{folder}/found"),
    ]
    log = ROOT / folder / "log"
    # The fuzzer ends without cleaning up behind the target.
    with tempfile.TemporaryDirectory() as place, log.open("wb") as output:
        fuzzer = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.atheris_target", target, *options],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": place},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        status = _wait(fuzzer)
    return outcome_of(status, log.read_text("utf-8", "replace"))


def _wait(fuzzer: subprocess.Popen[bytes]) -> int:
    try:
        return fuzzer.wait()
    except KeyboardInterrupt:
        # The terminal has told the child as well, which then says what it has found.
        fuzzer.wait(INPUT_SECONDS_MAX)
        return _INTERRUPTED


def main() -> int:
    """0 if every property held, 1 if one was broken, 130 after Ctrl-C."""
    seconds, targets = int(sys.argv[1]), sys.argv[2:] or list(TARGETS)
    outcomes: dict[str, Outcome] = {}
    for target in targets:
        _say(f"{target}: {seconds} s")
        outcomes[target] = run(target, seconds)
        if outcomes[target].status == _INTERRUPTED:
            break
    _say(f"\n{'target':10}{'runs':>10}{'runs/s':>9}{'coverage':>10}{'new corpus':>12}")
    for target, of in outcomes.items():
        figures = f"{of.runs:>10,}{of.runs_per_second:>9,}{of.coverage:>10,}{of.corpus_new:>12,}"
        _say(f"{target:10}{figures}")
    statuses = {outcome.status for outcome in outcomes.values()}
    broken = {name: of for name, of in outcomes.items() if of.status not in (0, _INTERRUPTED)}
    for target, of in broken.items():
        _say(f"\n{target} broke with status {of.status}; {FOLDER}/{target}/log says how")
        for file in of.found:
            _say(f"  {sys.executable} -m tests.fuzz.soak_replay {target} {file}")
    return 1 if broken else 130 if _INTERRUPTED in statuses else 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
