"""What a claim has got: kept whatever comes, and told as its worker needs it."""

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from queuelog_core.errors import StoreUnavailable
from queuelog_core.job import Job
from queuelog_core.stores.dynamodb_jobs import Stored
from queuelog_core.stores.dynamodb_texts import decode_whole

_log = logging.getLogger(__name__)


class Won(NamedTuple):
    """What was claimed: whole jobs, and id and attempt of those that have lost their payload."""

    jobs: list[Job]
    lost: list[tuple[int, int]]

    @property
    def in_all(self) -> int:
        """How many jobs were claimed."""
        return len(self.jobs) + len(self.lost)


class Haul:
    """The jobs, and texts by partition and sort key, also of some that were not claimed."""

    def __init__(
        self,
        claimed: Sequence[Stored] = (),
        texts: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.claimed = list(claimed)
        self.texts = dict(texts or {})

    @contextlib.contextmanager
    def kept_whatever_comes(self) -> Iterator[None]:
        """A fault ends the block, and is raised only while nothing is claimed: jobs that are must
        reach their worker, whatever became of the others."""
        try:
            yield
        except StoreUnavailable as error:
            if not self.claimed:
                raise
            _log.warning("claim-cut-short", extra={"fields": {"cause": str(error)}})

    def won(self) -> Won:
        """What was claimed, as its worker needs it."""
        won = Won([], [])
        for stored in self.claimed:
            job = decode_whole(stored.item, self.texts.get(str(stored.item["pk"]), {}))
            if job is not None:
                won.jobs.append(job)
            else:
                won.lost.append((stored.job.id, stored.job.attempt))
                _log.error("payload-lost", extra={"fields": {"job_id": stored.job.id}})
        return won
