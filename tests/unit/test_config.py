"""Settings: defaults, and that a wrong value names its variable."""

from pathlib import Path

import pytest

from queuelog_core.config import ClientConfig, Config, load_client_config, load_config
from queuelog_core.errors import ConfigError

DEFAULTS = Config(
    store="sqlite:///.queuelog/queuelog.db",
    keys="file:.queuelog/keys.json",
    job_types=Path("infra/job_types.toml"),
    retention_days=30,
    log_level="INFO",
)


def test_nothing_has_to_be_set() -> None:
    assert load_config({}) == DEFAULTS


@pytest.mark.parametrize("name", ["STORE", "KEYS", "JOB_TYPES", "RETENTION_DAYS"])
def test_an_empty_variable_counts_as_not_set(name: str) -> None:
    assert load_config({f"QUEUELOG_{name}": ""}) == DEFAULTS


def test_every_variable_is_read() -> None:
    config = load_config(
        {
            "QUEUELOG_STORE": "sqlite:////mnt/jobs.db",
            "QUEUELOG_KEYS": "file:/etc/keys.json",
            "QUEUELOG_JOB_TYPES": "/etc/types.toml",
            "QUEUELOG_RETENTION_DAYS": "7",
            "QUEUELOG_LOG_LEVEL": "debug",
        }
    )

    assert config == Config(
        store="sqlite:////mnt/jobs.db",
        keys="file:/etc/keys.json",
        job_types=Path("/etc/types.toml"),
        retention_days=7,
        log_level="DEBUG",
    )


def test_the_environment_is_what_is_read_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUELOG_RETENTION_DAYS", "11")

    assert load_config().retention_days == 11


def test_variables_of_others_are_left_alone() -> None:
    assert load_config({"RETENTION_DAYS": "x", "LOG_LEVEL": "x"}) == DEFAULTS


@pytest.mark.parametrize(("text", "days"), [("1", 1), ("3650", 3650), ("007", 7)])
def test_the_retention_is_from_a_day_to_ten_years(text: str, days: int) -> None:
    assert load_config({"QUEUELOG_RETENTION_DAYS": text}).retention_days == days


@pytest.mark.parametrize(
    "text",
    ["0", "3651", "-1", "+7", "7.0", "7d", " 7", "1e2", "0x10", "\u0663", "\u00b2", "9" * 5_000],
)
def test_a_retention_that_is_refused_names_its_variable(text: str) -> None:
    with pytest.raises(ConfigError, match="QUEUELOG_RETENTION_DAYS"):
        load_config({"QUEUELOG_RETENTION_DAYS": text})


@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING", "ERROR", "Error"])
def test_a_log_level_is_read_in_any_case(level: str) -> None:
    assert load_config({"QUEUELOG_LOG_LEVEL": level}).log_level == level.upper()


@pytest.mark.parametrize("level", ["TRACE", "10", "WARN", " INFO"])
def test_a_log_level_that_is_refused_names_its_variable(level: str) -> None:
    with pytest.raises(ConfigError, match="QUEUELOG_LOG_LEVEL"):
        load_config({"QUEUELOG_LOG_LEVEL": level})


OUTSIDE = {"QUEUELOG_URL": "https://queue.example.com", "QUEUELOG_API_KEY": "outside"}
HERE = "http://127.0.0.1:8080"


def test_a_client_is_set_up_by_the_environment() -> None:
    assert load_client_config(None, None, OUTSIDE) == ClientConfig(*OUTSIDE.values())


def test_what_a_client_is_given_comes_first() -> None:
    assert load_client_config("http://h:1", "given", OUTSIDE) == ClientConfig("http://h:1", "given")


@pytest.mark.parametrize("environ", [{}, {"QUEUELOG_URL": ""}])
def test_a_client_calls_this_machine_when_nobody_says_otherwise(environ: dict[str, str]) -> None:
    assert load_client_config(None, "k", environ) == ClientConfig(HERE, "k")
    assert load_client_config("", "k", environ) == ClientConfig(HERE, "k")


def test_a_client_reads_the_environment_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OUTSIDE.items():
        monkeypatch.setenv(name, value)

    assert load_client_config(None, None) == ClientConfig(*OUTSIDE.values())


@pytest.mark.parametrize("url", ["http://h", "http://h/", "https://[::1]:8/a/b//", "http://h:1/q"])
def test_an_address_may_have_a_path_and_loses_its_last_slashes(url: str) -> None:
    assert load_client_config(url, "k", {}).url == url.rstrip("/")


@pytest.mark.parametrize(
    "url",
    [
        *(
            "h:1",
            "ftp://h",
            "http://",
            "http:///q",
            "http://h?q=1",
            "http://h#f",
            "http://h ",
            "//h",
        ),
        *(
            "http://h:99999",
            "http://h:65536",
            "http://h:abc",
            "http://h:-1",
            "http://h:0",
            "http://[::1",
        ),
    ],
)
def test_an_address_that_is_refused_names_its_variable(url: str) -> None:
    with pytest.raises(ConfigError, match="QUEUELOG_URL"):
        load_client_config(None, None, OUTSIDE | {"QUEUELOG_URL": url})


@pytest.mark.parametrize(
    "key", ["", "seven wonders", "wonders\n", "wonders\r\nX-Other: 1", "wönders"]
)
def test_a_key_that_no_header_can_hold_names_its_variable_and_is_not_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="QUEUELOG_API_KEY") as raised:
        load_client_config(None, None, OUTSIDE | {"QUEUELOG_API_KEY": key})
    assert "nders" not in str(raised.value)
