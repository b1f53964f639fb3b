"""What `penstock publish` makes of its options; `tests/live/test_commands.py` runs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner

from penstock.cli import publish
from penstock.cli.main import app
from penstock.live.node.node import TIMEOUT_S
from penstock.transport.congestion.facts import FlowState
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.settings import RecordSettings
from penstock.wire.limits import RECORD_ENTRIES_MAX


class Nobody:
    """A node without a network."""

    got: ClassVar[list[object]] = []
    flows: ClassVar[list[FlowState]] = []

    @property
    def counters(self) -> dict[str, dict[str, int]]:
        return {"node": {"published": len(self.got), "unanswered": 1}, "queue": {"waiting": 0}}

    async def publish(self, attributes: object, payload: bytes) -> None:
        self.got.append(attributes)

    async def drain(self) -> int:
        await asyncio.sleep(0.05)
        return 0


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a connection was asked for."""
    options: dict[str, Any] = {}
    Nobody.got.clear()

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


def test_messages_are_looked_at_before_the_broker(asked: dict[str, Any]) -> None:
    result = CliRunner().invoke(app, ["publish", '{"a": '])
    assert result.exit_code == 2
    first, last = result.stderr.splitlines()
    assert first.startswith("penstock: message 1: not JSON: column ")
    assert (last, asked) == ("0 sent", {})


def test_files_are_looked_for_before_the_broker(asked: dict[str, Any], tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["publish", "{}", f"@{tmp_path}/none"])
    assert (result.exit_code, asked) == (2, {})
    assert result.stderr == f"penstock: cannot read '{tmp_path}/none': No such file or directory\n"


def test_what_can_be_read_is_sent_in_order(asked: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "lines").write_text('{"n": 2}\nnonsense\n')
    given = ['{"n": 1}', "[]", f"@{tmp_path}/lines", '{"n": 3}']
    result = CliRunner().invoke(app, ["publish", *given])
    assert result.exit_code == 2
    wrong, line, last = result.stderr.splitlines()
    assert wrong.startswith("penstock: message 2: a message is a JSON object")
    assert line.startswith(f"penstock: {tmp_path}/lines: line 2: not JSON")
    assert last == "3 sent, 1 while nobody answered"
    assert Nobody.got == [{"n": 1}, {"n": 2}, {"n": 3}]


@pytest.mark.parametrize(
    ("options", "recovery"),
    [
        ([], None),
        (["--recover"], RecoverySettings()),
        (["--recover", "--scope", "here"], RecoverySettings(scope="here")),
    ],
)
def test_recovery_is_what_was_asked_for(
    options: list[str], recovery: RecoverySettings | None, asked: dict[str, Any]
) -> None:
    CliRunner().invoke(app, ["publish", *options, "--linger", "0", "{}"])
    assert asked["recovery"] == recovery


@pytest.mark.parametrize(
    ("options", "stayed_s"),
    [
        (["{}"], [0.0]),
        (["--recover", "{}", "{}"], [2.0]),
        (["--recover", "--linger", "7.5", "{}"], [7.5]),
        (["--recover", "--linger", "0", "{}"], [0.0]),
        # Nothing was sent: nobody lost any of it.
        (["--recover", "@/dev/null"], []),
    ],
)
def test_it_stays_for_who_lost_the_last_messages(
    options: list[str],
    stayed_s: list[float],
    asked: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stayed: list[float] = []

    async def stay(linger_s: float) -> None:
        stayed.append(linger_s)

    monkeypatch.setattr(publish, "_stay", stay)
    assert CliRunner().invoke(app, ["publish", *options]).exit_code == 0
    assert stayed == stayed_s


@pytest.mark.parametrize("control", [True, False])
def test_congestion_control_is_what_was_asked_for(control: bool, asked: dict[str, Any]) -> None:
    CliRunner().invoke(app, ["publish", *["--control"] * control, "{}"])
    assert asked["congestion"] == (CongestionSettings() if control else None)


def test_it_is_told_what_is_slowed_down(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    flows = [FlowState(id_, f"a = {id_}", 9, 40.04, 0, 10 * id_) for id_ in range(8)]
    monkeypatch.setattr(publish, "_REPORT_INTERVAL_S", 0.03)
    monkeypatch.setattr(Nobody, "flows", flows)
    result = CliRunner().invoke(app, ["publish", "--control", "{}"])
    first, *_, more, last = result.stderr.splitlines()
    # Those of whom most wait; nothing waits in the first.
    assert first == "70 wait: 40/s of a = 7"
    assert more == "and 2 more flows"
    assert last == "1 sent, 1 while nobody answered"


def test_help_shows_defaults_and_ranges() -> None:
    shown = " ".join(CliRunner().invoke(app, ["publish", "--help"]).stdout.split())
    assert f"[default: 10; 0<=x<={RECORD_ENTRIES_MAX}]" in shown
    assert f"[default: {TIMEOUT_S}; x>=0]" in shown
    assert "start more than a second apart" in shown
    assert "[default: (2 with --recover, else 0); x>=0]" in shown
