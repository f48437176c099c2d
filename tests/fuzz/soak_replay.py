"""Try inputs that a fuzzer kept once more, without it: `soak_replay TARGET FILE ...`."""

import sys
from importlib import import_module
from pathlib import Path

from queuelog_core.logs import set_up_logging


def main() -> None:
    """Ends with the traceback of the first input that breaks a property."""
    target, *files = sys.argv[1:]
    set_up_logging("WARNING")
    check = import_module(f"tests.fuzz.soak_{target}").check
    for file in files:
        check(Path(file).read_bytes())
        sys.stdout.write(f"{file}: holds\n")


if __name__ == "__main__":
    main()
