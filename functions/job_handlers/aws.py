"""The clients of AWS that handlers share. boto3 is imported by the first job that needs it."""

import functools
from typing import Any


@functools.cache
def client(service: str) -> Any:
    """A boto3 client with limits on purpose: a handler has a timeout of its own to keep."""
    import boto3
    from botocore.config import Config

    patience = Config(
        connect_timeout=3, read_timeout=10, retries={"mode": "standard", "max_attempts": 3}
    )
    return boto3.client(service, config=patience)
