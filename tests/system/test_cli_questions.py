"""What deletes or changes many jobs asks first, where somebody can answer."""

import json
import sqlite3
from contextlib import closing

from tests.system.cli_scene import Screen


def test_a_redrive_by_filter_asks_and_only_yes_does_it(screen: Screen) -> None:
    screen.cancelled(3)
    command = ("jobs", "redrive", "--status", "cancelled", "--type", "pdf")

    refused = screen(*command, typed="n\n", piped=True)
    left = screen.count("cancelled", "pdf")
    done = screen(*command, typed="y\n", piped=True)

    assert (refused.code, refused.out, left) == (1, "", 3)
    assert "Redrive 3 jobs? [y/N]" in refused.screen
    assert "error: nothing was changed" in refused.screen
    assert (done.code, done.out) == (0, "3\n")
    assert "redriven 0/3" in done.screen
    assert screen.count("cancelled", "pdf") == 0


def test_a_purge_asks_and_only_yes_does_it(screen: Screen) -> None:
    screen.cancelled(2, "sync")
    with closing(sqlite3.connect(screen.folder / ".queuelog" / "queuelog.db")) as connection:
        connection.execute("UPDATE jobs SET finished_at = 1 WHERE status = 'cancelled'")
        connection.commit()
    command = ("db", "purge", "--older-than", "1d", "--status", "cancelled")

    refused = screen(*command, typed="n\n", piped=True)
    left = screen.count("cancelled", "sync")
    done = screen(*command, typed="y\n", piped=True)

    assert (refused.code, refused.out, left) == (1, "", 2)
    assert "Delete cancelled jobs for good? [y/N]" in refused.screen
    assert (done.code, done.out) == (0, "2\n")
    assert "purged 0" in done.screen
    assert screen.count("cancelled", "sync") == 0


def test_a_key_is_revoked_on_a_terminal_only_after_a_yes(screen: Screen) -> None:
    made = json.loads(screen.shell("keys", "create", "shop", "--role", "producer", "--json").stdout)
    command = ("keys", "revoke", made["id"])

    refused = screen(*command, typed="n\n")
    left = screen.shell.lines("keys", "list")[-1]["revoked_at"]
    done = screen(*command, typed="y\n")

    assert (refused.code, left) == (1, None)
    assert f"End {made['id']} for good? [y/N]" in refused.screen
    assert done.code == 0
    assert screen.shell.lines("keys", "list")[-1]["revoked_at"] is not None


def test_a_key_is_revoked_at_once_where_nobody_can_be_asked(screen: Screen) -> None:
    made = json.loads(screen.shell("keys", "create", "blog", "--role", "producer", "--json").stdout)

    done = screen("keys", "revoke", made["id"], fed="")

    assert done.code == 0
    assert "for good?" not in done.screen


def test_ctrl_c_in_front_of_a_question_is_130_and_changes_nothing(screen: Screen) -> None:
    screen.cancelled(1)

    seen = screen("jobs", "redrive", "--status", "cancelled", interrupted_after="[y/N]")

    assert seen.code == 130
    assert "Traceback" not in seen.screen
    assert screen.count("cancelled", "pdf") == 1
