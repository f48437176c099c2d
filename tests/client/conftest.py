"""Fixtures of the client's tests."""

import pytest

from tests.client.clients import Clients
from tests.support.http import Api


@pytest.fixture
def clients(api: Api) -> Clients:
    return Clients(api)
