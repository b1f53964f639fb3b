"""What `penstock subscribe` asks for, prints and sums up; `tests/live` runs it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli import subscribe
from penstock.cli.main import app
from penstock.cli.subscribe import SubscriptionPrinter
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import seconds
from penstock.live.node.subscription import Received
from penstock.trace.fates import ReceiverFate
from penstock.transport.facts import Unseen
from penstock.transport.order.latch import LATCH_MAX_NS, ConditionalLatch
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.settings import DEFAULT, OFF, OrderingSettings
from tests.live.loopback import HASTY, TICKS, bad_line, network, node_at, run, tick, until


class Curious:
    """A node that only remembers how it was to order."""

    ordering: OrderingSettings

    def subscribe(self, predicate: object, *, ordering: OrderingSettings) -> None:
        self.ordering = ordering
        raise UsageError("that is all")


@pytest.mark.parametrize(
    ("options", "ordering"),
    [
        ([], DEFAULT),
        (["--unordered"], OFF),
        (["--cautious"], OrderingSettings(is_cautious=True)),
        (["--max-delay", "0.5"], OrderingSettings(max_delay_ns=seconds(0.5))),
        (["--late", "drop"], OrderingSettings(late="drop")),
        (["--violation-probability", "0.1"], OrderingSettings(latch=ConditionalLatch(0.1))),
    ],
)
def test_options_become_settings(
    options: list[str], ordering: OrderingSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Curious()

    @asynccontextmanager
    async def connected(where: str, **_: Any) -> AsyncIterator[Curious]:
        yield node

    monkeypatch.setattr(subscribe, "connected", connected)
    result = CliRunner().invoke(app, ["subscribe", "x = 1", *options])
    assert result.stderr == "penstock: that is all\n"
    assert node.ordering == ordering


@pytest.mark.parametrize(
    ("options", "recovery"),
    [
        ([], None),
        (["--recover"], RecoverySettings()),
        (["--recover", "--scope", "here"], RecoverySettings(scope="here")),
    ],
)
def test_recovery_is_what_was_asked_for(
    options: list[str], recovery: RecoverySettings | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[RecoverySettings | None] = []

    @asynccontextmanager
    async def connected(where: str, **given: Any) -> AsyncIterator[Curious]:
        asked.append(given["recovery"])
        yield Curious()

    monkeypatch.setattr(subscribe, "connected", connected)
    CliRunner().invoke(app, ["subscribe", "x = 1", *options])
    assert asked == [recovery]


def test_what_nobody_saw_is_summed_up_too() -> None:
    report = SubscriptionPrinter(0, is_full=False, is_ordered=True)

    async def program() -> None:
        async with network() as (_, node), node.subscribe(TICKS) as ticks:
            ticks.take(Unseen(0, 9, 1, 3, 10, 20))
            await report.follow(ticks, prints_missing=False)

    run(program())
    unseen = "3 lost of which nothing else is known"
    assert report.summary() == f"0 delivered, 0 late, 0 lost, {unseen}"


def test_what_was_missing_is_printed_and_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    report = SubscriptionPrinter(4, is_full=True, is_ordered=True)

    async def program() -> None:
        async with (
            network() as (broker, node),
            bad_line(broker.address) as line,
            node_at(line.address, 9) as publisher,
            node.subscribe(TICKS, ordering=HASTY) as ticks,
        ):
            following = asyncio.create_task(report.follow(ticks, prints_missing=True))
            await tick(publisher)
            await until(lambda: ticks.counters["delivered"] == 1)
            line.hold()
            await tick(publisher, 2)
            await until(lambda: ticks.counters["delivered"] == 2)
            line.release()
            await until(lambda: ticks.counters["delivered_late"] == 1)
            line.lose()
            await tick(publisher, 2)
            await following

    run(program())
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["publisher"] for line in lines} == {"9"}
    messages = [(line["number"], line["fate"]) for line in lines if "fate" in line]
    assert messages == [
        (0, "delivered"), (2, "delivered"), (1, "delivered_late"), (4, "delivered")
    ]  # fmt: skip
    absences = [line for line in lines if "resolution" in line]
    told = [(line["number"], line["resolution"]) for line in absences]
    assert told == [(1, "delivered_late"), (3, "given_up")]
    assert all(line["missing_ms"] > 0 for line in absences)
    assert report.summary() == "3 delivered, 1 late, 1 lost"


def test_what_is_held_at_the_end_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    report = SubscriptionPrinter(None, is_full=False, is_ordered=False)

    async def program() -> None:
        async with network() as (_, node), node.subscribe("x >= 0", queue_max=2) as ticks:
            for x in range(3):
                await node.publish({"x": x})
            await until(lambda: ticks.counters["overflow"])
            following = asyncio.create_task(report.follow(ticks, prints_missing=False))
            following.cancel()
            await asyncio.wait([following])
            # It was stopped before it began.
            following = asyncio.create_task(report.follow(ticks, prints_missing=False))
            await asyncio.sleep(0)
            following.cancel()
            await asyncio.wait([following])

    run(program())
    assert capsys.readouterr().out == '{"x": 0}\n{"x": 1}\n'
    too_many = "1 dropped because they came faster than they were printed"
    assert report.summary() == f"2 delivered, {too_many}"


def test_what_json_has_no_word_for_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    attributes = {"x": float("nan"), "y": float("inf"), "z": 1.5}
    message = Received(attributes, b"", 1, 2, 3, ReceiverFate.DELIVERED, 2_500_000)
    shown = subscribe._full_record(message)
    assert (shown["attributes"], shown["waited_ms"]) == ({"x": None, "y": None, "z": 1.5}, 2.5)


def test_the_longest_wait_is_the_transports() -> None:
    assert seconds(subscribe._MAX_DELAY_S) == LATCH_MAX_NS
    shown = " ".join(CliRunner().invoke(app, ["subscribe", "--help"]).stdout.split())
    assert f"[default: (2); 0<=x<={LATCH_MAX_NS / 1e9}]" in shown
    assert f"[default: ({ConditionalLatch().chance}); 0<=x<=1]" in shown
