"""S3 and SES in this process, as the handlers of a deployment meet them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from moto import mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.sesv2.models import sesv2_backends

from functions.job_handlers import aws
from tests.support.secrets_manager import REGION

BUCKET = "queuelog-test"
SENDER = "queue@example.com"


class Cloud:
    """A bucket, and a sender that SES knows."""

    def __init__(self) -> None:
        self.s3: Any = boto3.client("s3", region_name=REGION)
        where = {"LocationConstraint": REGION}
        self.s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration=where)
        ses: Any = boto3.client("sesv2", region_name=REGION)
        ses.create_email_identity(EmailIdentity=SENDER)

    def put(self, *keys: str) -> None:
        for key in keys:
            self.s3.put_object(Bucket=BUCKET, Key=key, Body=key.encode())

    def objects(self, prefix: str = "") -> dict[str, bytes]:
        """Every object under a prefix with its bytes."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        keys = [found["Key"] for page in pages for found in page.get("Contents", ())]
        return {key: self.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}

    def sent(self) -> list[Any]:
        """The messages that SES took."""
        backend: Any = sesv2_backends[DEFAULT_ACCOUNT_ID][REGION]
        return list(backend.core_backend.sent_messages)


@contextmanager
def cloud() -> Iterator[Cloud]:
    """Everything is gone when the block is left, and the handlers have forgotten their clients."""
    aws.client.cache_clear()
    with mock_aws():
        yield Cloud()
    aws.client.cache_clear()
