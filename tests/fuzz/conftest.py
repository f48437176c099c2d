"""Accounts of the fuzzing, told at the end of the test run."""

import pytest

from tests.fuzz.schema_run import RUNS, SEED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for title, account in RUNS.items():
        terminalreporter.section(f"schemathesis: {title}, seed {SEED}")
        for line in account.table():
            terminalreporter.write_line(line)
