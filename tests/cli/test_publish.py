"""What `penstock publish` makes of its options; `tests/live/test_commands.py` runs it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner

from penstock.cli import publish
from penstock.cli.main import app
from penstock.live.client import TIMEOUT_S
from penstock.transport.settings import RecordSettings
from penstock.wire.limits import RECORD_ENTRIES_MAX


class Nobody:
    """A node without a network."""

    counters: ClassVar = {"node": {"unanswered": 1}}

    async def publish(self, attributes: object, payload: bytes) -> None:
        pass


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a connection was asked for."""
    options: dict[str, Any] = {}

    @asynccontextmanager
    async def connected(where: str, **given: Any) -> AsyncIterator[Nobody]:
        options.update(given)
        yield Nobody()

    monkeypatch.setattr(publish, "connected", connected)
    return options


def test_the_record_is_what_was_asked_for(asked: dict[str, Any]) -> None:
    given = ["--record", "3", "--numbers", "price", "--numbers", "volume", "--timeout", "2"]
    result = CliRunner().invoke(app, ["publish", *given, "{}", "{}"])
    assert asked["record"] == RecordSettings(size=3, numbers=("price", "volume"))
    assert asked["timeout"] == 2
    assert (result.exit_code, result.stderr) == (0, "2 sent, 1 while nobody answered\n")


def test_the_usual_is_the_usual_of_the_interface(asked: dict[str, Any]) -> None:
    CliRunner().invoke(app, ["publish", "{}"])
    assert (asked["record"], asked["timeout"]) == (RecordSettings(), TIMEOUT_S)


def test_help_shows_defaults_and_ranges() -> None:
    shown = " ".join(CliRunner().invoke(app, ["publish", "--help"]).stdout.split())
    assert f"[default: 10; 0<=x<={RECORD_ENTRIES_MAX}]" in shown
    assert f"[default: {TIMEOUT_S}; x>=0]" in shown
    assert "start more than a second apart" in shown
