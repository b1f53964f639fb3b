"""Commands at a broker whose parents are not there: they say so, and go on when they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import typer

from penstock.cli.stream import opening

from .broker_thread import running_broker
from .conftest import Penstock


@pytest.fixture
def parent(tmp_path: Path, penstock: Penstock) -> str:
    """Where a broker has been, with a stream `orders`."""
    with running_broker(tmp_path / "top", name="top") as address:
        penstock("publish", "orders", '{"n": 1}', "--create", "--broker", address)
    return address


@pytest.fixture
def edge(tmp_path: Path, parent: str) -> Iterator[str]:
    """A broker that has not been linked to it."""
    with running_broker(tmp_path / "edge", name="edge", parents=(parent,)) as address:
        yield address


def test_a_reader_is_told_that_no_parent_is_linked_and_does_not_wait_for_ever(
    penstock: Penstock, edge: str
) -> None:
    ended = penstock("subscribe", "orders", "--timeout", "0.3s", "--broker", edge, code=4)
    assert ended.stderr == (
        f"penstock: {edge} has no parent linked to take 'orders' from:"
        " start one, or raise --timeout\n"
    )


def test_a_reader_is_told_how_many_parents_are_away(
    penstock: Penstock, tmp_path: Path, parent: str, address: str
) -> None:
    with running_broker(tmp_path / "edge", name="edge", parents=(address, parent)) as edge:
        penstock("publish", "linked", "{}", "--create", "--broker", address)
        # One that is known is read.
        known = ["linked", "--start", "first", "--count", "1", "--timeout", "30s"]
        penstock("subscribe", *known, "--broker", edge)
        ended = penstock("subscribe", "orders", "--timeout", "0.3s", "--broker", edge, code=4)
    assert f"penstock: {edge} lacks 1 of 2 parents to take 'orders' from: start" in ended.stderr


def test_a_reader_goes_on_when_a_parent_is_back(
    penstock: Penstock,
    tmp_path: Path,
    parent: str,
    edge: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opening, "_LOOK_S", 0.05)
    is_told, is_done = Event(), Event()

    def start_parent() -> None:
        is_told.wait()
        with ExitStack() as stack:
            stack.enter_context(running_broker(tmp_path / "top", name="top", listen=parent))
            is_done.wait()

    said: list[str] = []
    echo: Callable[..., None] = typer.echo

    def noted(text: Any, **options: Any) -> None:
        said.append(text)
        is_told.set()
        echo(text, **options)

    monkeypatch.setattr(typer, "echo", noted)
    starting = Thread(target=start_parent)
    starting.start()
    try:
        wanted = ["orders", "--start", "first", "--count", "1", "--timeout", "30s"]
        found = penstock("subscribe", *wanted, "--broker", edge)
    finally:
        is_told.set()
        is_done.set()
        starting.join()
    assert found.stdout == '{"n": 1}\n'
    assert said[0] == f"{edge} has no parent linked to take 'orders' from: waiting up to 30s"
    assert f"reads orders at {edge}" in said
    assert len([line for line in said if "waiting" in line and "no parent" in line]) == 1


class FakeNode:
    """Of a broker with such a status."""

    address = "127.0.0.1:7461"

    def __init__(self, parents: list[str], away: int) -> None:
        self._status = {"parents": parents, "parents_away": away}

    async def request(self, _verb: str, _arguments: object) -> object:
        return self._status


@pytest.mark.parametrize(
    ("parents", "away", "text"),
    [
        ([], 2, "127.0.0.1:7461 has no parent linked to take 'orders' from"),
        (["a"], 2, "127.0.0.1:7461 lacks 2 of 3 parents to take 'orders' from"),
        # It may be further up that somebody is away.
        (["a", "b"], 0, "the broker storing 'orders' does not answer 127.0.0.1:7461"),
        ([], 0, "127.0.0.1:7461 does not open 'orders'"),
    ],
)
def test_what_is_waited_for_is_one_line(parents: list[str], away: int, text: str) -> None:
    node: Any = FakeNode(parents, away)
    why = asyncio.run(opening._find_why(node, "orders", timeout="1s"))
    assert why.text == text
    assert len(f"penstock: {why.text}: {why.to_do}") <= 100


def test_a_publisher_is_not_told_to_create_what_a_parent_may_have(
    penstock: Penstock, edge: str
) -> None:
    refused = penstock("publish", "orders", "{}", "--broker", edge, code=4)
    assert "no stream 'orders' is known here while parents are away: publish" in refused.stderr
    assert "create" not in refused.stderr
