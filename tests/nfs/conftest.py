"""One guest for all tests of the folder."""

from collections.abc import Iterator

import pytest

from tests.nfs.image import image, lacks
from tests.nfs.machine import Guest, running


@pytest.fixture(scope="session")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    if missing := lacks():
        pytest.fail(missing, pytrace=False)
    with running(image(), tmp_path_factory.mktemp("nfs")) as started:
        yield started
