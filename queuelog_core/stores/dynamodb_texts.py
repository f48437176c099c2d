"""Jobs out of their items: with the texts beside them, without, or where these are lost."""

from collections.abc import Iterable, Mapping
from typing import Any

from queuelog_core.job import Job
from queuelog_core.stores import dynamodb_items as items
from queuelog_core.stores.dynamodb_client import Item


def texts_in(found: Iterable[Item]) -> dict[str, str]:
    """The texts among the items of one job, by sort key."""
    return {str(item["sk"]): str(item[items.TEXT]) for item in found if items.TEXT in item}


def decode_bare(item: Item) -> Job:
    """A job whose texts were not read."""
    return items.decode_job(item, _NotRead())


def decode_whole(item: Item, texts: Mapping[str, str]) -> Job | None:
    """A job and its texts; None when its payload or result is not among them."""
    try:
        return items.decode_job(item, texts)
    except KeyError:
        return None


def decode_lost(item: Item, texts: Mapping[str, str]) -> Job:
    """A job and its texts; a payload or a result that is not among them reads as empty."""
    return items.decode_job(item, _Lost(texts))


class _NotRead(dict[str, str]):
    def __missing__(self, _: str) -> Any:
        return None


class _Lost(dict[str, str]):
    def __missing__(self, _: str) -> str:
        return "{}"
