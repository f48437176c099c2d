"""The address of a store in DynamoDB, and what its opening and its calls say when it is wrong."""

import builtins
from typing import Any

import pytest

from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.stores import open_store
from queuelog_core.stores.dynamodb import DynamoDBStore
from queuelog_core.stores.dynamodb_client import Client
from queuelog_core.stores.dynamodb_schema import create_table
from tests.support.dynamodb import REGION, Engine
from tests.support.factories import pending_job
from tests.support.stores import insert


@pytest.fixture(autouse=True)
def no_region(aws_credentials: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("dynamodb://", "QUEUELOG_STORE looks like"),
        ("dynamodb://ab?region=eu-west-1", "QUEUELOG_STORE looks like"),
        ("dynamodb://a table?region=eu-west-1", "QUEUELOG_STORE looks like"),
        ("dynamodb://table/more?region=eu-west-1", "QUEUELOG_STORE looks like"),
        ("dynamodb:///table", "QUEUELOG_STORE looks like"),
        ("dynamodb://table?regoin=eu-west-1", "QUEUELOG_STORE looks like"),
        ("dynamodb://[table?region=eu-west-1", "QUEUELOG_STORE looks like"),
        ("dynamodb://table?region=eu-west-1&shards=0", "from 1 to 256"),
        ("dynamodb://table?region=eu-west-1&shards=257", "from 1 to 256"),
        ("dynamodb://table?region=eu-west-1&shards=two", "from 1 to 256"),
        ("dynamodb://table", "say which region"),
        ("dynamodb://table?region=eu-west-1&endpoint=nowhere", "endpoint"),
    ],
)
def test_a_wrong_address_stops_the_start(url: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        open_store(url)


def test_without_boto3_the_start_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if "dynamodb_address" in (rest[2] or ()):
            raise ModuleNotFoundError("No module named 'botocore'", name="botocore")
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(ConfigError, match=r"needs botocore: pip install 'queuelog\[aws\]'"):
        open_store("dynamodb://table?region=eu-west-1")


def test_a_table_that_is_not_there_is_told_at_the_first_call(moto_engine: Engine) -> None:
    store = moto_engine.open("nowhere")

    with pytest.raises(StoreUnavailable) as raised:
        store.get(1)
    assert "there is no such table; queuelog db migrate makes it" in raised.value.reason


def test_a_table_that_is_there_already_is_not_made_again(moto_engine: Engine) -> None:
    name = moto_engine.make_table()
    store = moto_engine.open(name)
    job = insert(store)

    assert not create_table(Client(moto_engine.connect), name)

    assert store.get(job.id) == job
    store.close()


def test_a_table_that_is_anothers_is_refused(moto_engine: Engine) -> None:
    moto_engine.connect().create_table(
        TableName="their-table",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )

    with pytest.raises(ConfigError, match="their-table is another's"):
        create_table(Client(moto_engine.connect), "their-table")


def test_an_endpoint_where_nobody_listens_is_unavailable() -> None:
    store = open_store(f"dynamodb://table?region={REGION}&endpoint=http://127.0.0.1:1")

    with pytest.raises(StoreUnavailable, match="Could not connect"):
        store.check_writable()
    store.close()


def test_more_shards_are_seen_by_those_who_still_write_to_fewer(moto_engine: Engine) -> None:
    name = moto_engine.make_table()
    wide = DynamoDBStore(Client(moto_engine.connect), name, 8)
    made = {job.id for job, _ in wide.insert_many([pending_job() for _ in range(20)])}

    narrow = DynamoDBStore(Client(moto_engine.connect), name, 1)
    stats = narrow.stats(pending_job().run_at, None)

    assert stats.due.count == len(made)
    wide.close()
    narrow.close()
