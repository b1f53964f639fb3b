"""One broker for all commands; each test has a stream of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app

from .broker_thread import running_broker

Penstock: TypeAlias = Callable[..., Result]


@pytest.fixture(scope="package")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the broker `b1` listens."""
    with running_broker(tmp_path_factory.mktemp("streams"), name="b1") as address:
        yield address


@pytest.fixture
def penstock(address: str) -> Penstock:
    """Runs `penstock stream` with that broker."""

    def run(*arguments: str, code: int = 0) -> Result:
        runner = CliRunner(env={"PENSTOCK_STREAMS": address})
        result = runner.invoke(app, ["stream", *arguments], prog_name="penstock")
        assert result.exit_code == code, result.output
        return result

    return run


@pytest.fixture
def stream(request: pytest.FixtureRequest, penstock: Penstock) -> str:
    """A stream with ten messages, n from 0 to 9."""
    name = request.node.name.partition("[")[0][-60:].strip("_")
    messages = [f'{{"n": {n}}}' for n in range(10)]
    penstock("publish", name, *messages, "--create")
    return str(name)
