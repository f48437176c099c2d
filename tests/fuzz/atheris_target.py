"""One target under the fuzzer, until libFuzzer ends the process: `TARGET [libFuzzer's options]`."""

import importlib
import sys

import atheris


def main() -> None:
    """Only the product is instrumented, also what it imports while it runs."""
    target, *options = sys.argv[1:]
    with atheris.instrument_imports(include=["queuelog_core"]):
        check = importlib.import_module(f"tests.fuzz.soak_{target}").check
        atheris.Setup([target, *options], check)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
