"""The world of the authorization table, for every test that calls it."""

from collections.abc import Iterator

import pytest

from tests.security.authorization_world import Stage, World


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("authorization"))
    yield stage
    stage.close()


@pytest.fixture
def world(stage: Stage) -> Iterator[World]:
    yield stage.enter()
    stage.leave()
