"""What the scheduled worker refuses to start with, and what it loads."""

import subprocess
import sys
from pathlib import Path

import pytest

from queuelog_core.errors import ConfigError
from tests.functions.draining import running, settings_of
from tests.functions.events import SCHEDULED
from tests.support.http import ROOT

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quiet_logging: None) -> None:
    for name, value in settings_of(NOWHERE, "ql_worker", tmp_path).items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("value", ["", "0", "901", "-1", "1.5", "x", "1e2", " 5"])
@pytest.mark.parametrize("name", ["QUEUELOG_DRAIN_SECONDS", "QUEUELOG_DRAIN_JOB_SECONDS"])
def test_a_time_that_is_none_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(ConfigError, match=name):
        running(lambda _job: None)(SCHEDULED, None)


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("QUEUELOG_URL", "nowhere", "QUEUELOG_URL"),
        ("QUEUELOG_API_KEY", "two words", "QUEUELOG_API_KEY"),
        ("QUEUELOG_API_KEY", "", "QUEUELOG_API_KEY_SECRET"),
        ("QUEUELOG_LOG_LEVEL", "LOUD", "QUEUELOG_LOG_LEVEL"),
    ],
)
def test_a_wrong_setting_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, named: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(ConfigError, match=named):
        running(lambda _job: None)(SCHEDULED, None)


LOOK = "import sys; import functions.drain; print(*sys.modules)"


def test_the_drain_knows_no_store_and_loads_nothing_that_its_first_job_may_not_need() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    loaded = {*done.stdout.split()}
    assert "queuelog_core.worker" in loaded
    never = {"queuelog_core.stores", "queuelog_core.queue", "queuelog_core.http", "sqlite3"}
    late = {"boto3", "botocore", "reportlab", "queuelog_core.key_registry"}
    assert loaded.isdisjoint(never | late | {"flask", "werkzeug", "click", "rich"})
