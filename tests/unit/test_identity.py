"""Names, roles and the form of an API key."""

import hashlib
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuelog_core.errors import ConfigError
from queuelog_core.identity import (
    Identity,
    KeyRecord,
    Role,
    check_name,
    find_identity,
    generate_key,
    key_digest,
)
from queuelog_core.job import Priority
from tests.support.factories import NOON, admin, producer

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# Written out, so that a change of the format or of the checksum shows.
KEY = "ql_worker_ku5z5XJUPYgzw5f4Z6qrH3B0dWwVimr6CS6XTkV4WRp_0soETK"


def record(key: str = KEY, **fields: Any) -> KeyRecord:
    made: dict[str, Any] = {
        "id": "key_1",
        "name": "mailer",
        "role": Role.WORKER,
        "digest": hashlib.sha256(key.encode()).hexdigest(),
        "priority_max": Priority.MEDIUM,
        "types": frozenset({"email", "pdf"}),
        "created_at": NOON,
    }
    return KeyRecord(**(made | fields))


def find(key: str, *records: KeyRecord, now: int = NOON) -> Identity | None:
    return find_identity({record.digest: record for record in records}, key, now)


@pytest.mark.parametrize("role", Role)
def test_a_key_shows_its_role_and_ends_in_a_checksum(role: Role) -> None:
    key = generate_key(role)

    assert re.fullmatch(rf"ql_{role}_[0-9A-Za-z]{{32,}}_[0-9A-Za-z]{{6}}", key)


def test_two_keys_are_never_the_same() -> None:
    assert len({generate_key(Role.ADMIN) for _ in range(100)}) == 100


def test_a_key_is_found_by_the_sha_256_of_all_of_it() -> None:
    assert key_digest(KEY) == hashlib.sha256(KEY.encode()).hexdigest()


@settings(print_blob=True, deadline=None)
@given(st.integers(0, len(KEY) - 1), st.sampled_from(BASE62))
def test_a_key_with_one_wrong_character_is_refused_by_its_checksum(place: int, char: str) -> None:
    altered = KEY[:place] + char + KEY[place + 1 :]

    assert (key_digest(altered) is None) == (altered != KEY)


@settings(print_blob=True, deadline=None)
@given(st.text())
def test_junk_is_no_key(text: str) -> None:
    assert key_digest(text) is None


@pytest.mark.parametrize(
    "key",
    [
        "",
        "caf\u00e9",
        "\u201c" + KEY + "\u201d",
        KEY.replace("w", "\uff57"),
        KEY + "\u00e9",
        KEY.encode().decode("utf-16-le", errors="replace"),
        "\udce9" + KEY,
        "k" * 10_000,
        KEY * 150,
        KEY + "\n",
        KEY + "\r\n",
        " " + KEY,
        KEY + "\0",
        KEY[:-1],
        KEY + "0",
        KEY.upper(),
        KEY.replace("ql_worker", "ql_admin"),
        KEY.replace("ql_worker", "ql_reader"),
        KEY.replace("ql_", ""),
        "ql_worker_" + "0" * 43 + "_000000",
    ],
    ids=range(20),
)
def test_an_odd_key_is_an_unfit_key_and_no_accident(key: str) -> None:
    """B47: a key that is not ASCII makes the comparison of digests raise."""
    assert find(key, record()) is None


def test_a_live_key_stands_for_its_identity() -> None:
    identity = find(KEY, record())

    assert identity == Identity(
        name="mailer",
        role=Role.WORKER,
        priority_max=Priority.MEDIUM,
        types=frozenset({"email", "pdf"}),
        key_id="key_1",
    )


def test_a_well_formed_key_that_nobody_has_stands_for_nobody() -> None:
    assert find(generate_key(Role.WORKER), record()) is None


def test_a_record_filed_under_another_keys_digest_stands_for_nobody() -> None:
    other = record(generate_key(Role.WORKER))

    assert find_identity({key_digest(KEY) or "": other}, KEY, NOON) is None


def test_a_revoked_key_stands_for_nobody() -> None:
    assert find(KEY, record(revoked_at=NOON)) is None


@pytest.mark.parametrize(("now", "is_live"), [(NOON - 1, True), (NOON, False), (NOON + 1, False)])
def test_a_key_lives_until_the_instant_it_expires(now: int, is_live: bool) -> None:
    assert (find(KEY, record(expires_at=NOON), now=now) is not None) == is_live


@pytest.mark.parametrize("types", [None, frozenset({"email", "pdf"})])
def test_an_identity_is_the_same_after_its_way_through_json(types: frozenset[str] | None) -> None:
    identity = admin(types=types, key_id="key_7")

    assert Identity.from_json(identity.to_json()) == identity


@pytest.mark.parametrize("lost", ["name", "role", "priority_max", "types", "key_id"])
def test_an_identity_that_lacks_a_part_is_none(lost: str) -> None:
    document = admin().to_json()
    del document[lost]

    with pytest.raises(KeyError):
        Identity.from_json(document)


def test_a_key_record_is_the_same_after_its_way_through_json() -> None:
    kept = record(expires_at=NOON + 1, revoked_at=NOON + 2)

    assert KeyRecord.from_json(kept.to_json()) == kept


def test_a_key_record_holds_the_digest_and_nothing_of_the_key() -> None:
    document = str(record().to_json())

    assert not any(part in document for part in KEY.split("_")[2:])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "Mailer"),
        ("name", None),
        ("role", "reader"),
        ("digest", "abc"),
        ("digest", 64),
        ("priority_max", "urgent"),
        ("types", 5),
        ("types", "email"),
        ("expires_at", "2026-11-29"),
        ("revoked_at", "never"),
    ],
)
def test_a_key_record_with_a_part_that_is_none_is_refused(field: str, value: Any) -> None:
    document = record().to_json() | {field: value}

    with pytest.raises((KeyError, TypeError, ValueError)):
        KeyRecord.from_json(document)


@pytest.mark.parametrize("name", ["a", "7", "billing-api", "eu.mail_2", "x" * 64])
def test_a_name_may_look_like_that(name: str) -> None:
    check_name(name, Role.PRODUCER, [])


@pytest.mark.parametrize(
    "name", ["", "Shop", "-a", ".a", "_a", "a b", "é", "a/b", "a\n", "x" * 65, "\u0661"]
)
def test_a_name_may_not_look_like_that(name: str) -> None:
    with pytest.raises(ConfigError, match="a name looks like"):
        check_name(name, Role.PRODUCER, [])


def test_a_name_keeps_its_role_even_after_its_keys_were_revoked() -> None:
    with pytest.raises(ConfigError, match="keeps its role"):
        check_name("mailer", Role.ADMIN, [record(revoked_at=NOON)])


def test_another_name_may_have_another_role() -> None:
    check_name("shop", Role.PRODUCER, [record(), record(name="root", role=Role.ADMIN)])


def test_an_identity_without_types_may_use_all_of_them() -> None:
    assert producer(types=None).may_use("email")


def test_an_identity_with_types_may_use_only_those() -> None:
    identity = producer(types=frozenset({"email"}))

    assert (identity.may_use("email"), identity.may_use("pdf")) == (True, False)
