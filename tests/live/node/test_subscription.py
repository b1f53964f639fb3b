"""One subscription: order, fates, losses as they are declared, bounds and adjusting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND
from penstock.live.node.node import Node
from penstock.live.node.subscription import Subscription
from penstock.live.node.subscription_options import Late
from penstock.trace.fates import MissingState, ReceiverFate
from penstock.transport.facts import Absence, Unseen
from penstock.transport.order.latch import ConditionalLatch
from penstock.wire.frames.data import MessageId
from tests.live.loopback import (
    HASTY,
    PATIENT,
    TICKS,
    LiveLine,
    bad_line,
    network,
    node_at,
    numbers,
    run,
    take,
    tick,
    until,
)

# Nothing is waited for, and what is not there is lost.
SURE = replace(HASTY, loss_share=0.0)


class Scene(NamedTuple):
    """A publisher behind a bad line; two subscriptions to it, one of them without order."""

    line: LiveLine
    publisher: Node
    ticks: Subscription
    unordered: Subscription


@asynccontextmanager
async def ticking(**options: Any) -> AsyncIterator[Scene]:
    """Publisher 9 has sent message 0, and it has arrived."""
    async with (
        network() as (broker, node),
        bad_line(broker.address) as line,
        node_at(line.address, 9) as publisher,
        node.subscribe(TICKS, **options) as ticks,
        node.subscribe(TICKS, order=False) as unordered,
    ):
        await tick(publisher)
        assert numbers(await take(unordered, 1)) == [0]
        yield Scene(line, publisher, ticks, unordered)


def test_an_overtaken_message_is_put_in_order() -> None:
    async def program() -> None:
        async with ticking(ordering=PATIENT) as (line, publisher, ordered, unordered):
            line.hold()
            await tick(publisher, 2)
            # One has it, and the other waits for the one before it.
            assert numbers(await take(unordered, 1)) == [2]
            line.release()
            got = await take(ordered, 3)
            assert numbers(got) == [0, 1, 2]
            assert numbers(await take(unordered, 1)) == [1]
            assert [message.waited_ns > 0 for message in got] == [False, False, True]
            assert {message.fate for message in got} == {ReceiverFate.DELIVERED}

    run(program())


@pytest.mark.parametrize("late", ["deliver", "drop"])
def test_a_late_message_is_handed_over_or_not(late: Late) -> None:
    async def program() -> None:
        async with ticking(ordering=HASTY, late=late) as (line, publisher, ticks, _):
            missing = ticks.missing
            assert numbers(await take(ticks, 1)) == [0]
            line.hold()
            await tick(publisher, 2)
            assert numbers(await take(ticks, 1)) == [2]
            line.release()
            fate = f"{'delivered' if late == 'deliver' else 'dropped'}_late"
            await until(lambda: ticks.counters[fate])
            absence = await anext(missing)
            assert (absence.id.seq, absence.resolution) == (1, fate)
            await tick(publisher)
            rest = [1, 3] if late == "deliver" else [3]
            assert numbers(await take(ticks, len(rest))) == rest

    run(program())


def test_a_lost_message_is_given_up_and_told() -> None:
    async def program() -> None:
        async with ticking(ordering=HASTY) as (line, publisher, ticks, _):
            missing = ticks.missing
            assert numbers(await take(ticks, 1)) == [0]
            line.lose()
            await tick(publisher, 2)
            assert numbers(await take(ticks, 1)) == [2]
        told = [(a.id.pub, a.id.seq, a.resolution) async for a in missing]
        assert told == [(9, 1, ReceiverFate.GIVEN_UP)]
        assert (ticks.counters["missing"], ticks.counters["given_up"]) == (1, 1)

    run(program())


def test_a_loss_is_told_when_it_is_declared_and_taken_back_when_it_comes() -> None:
    async def program() -> None:
        async with ticking(ordering=SURE) as (line, publisher, ticks, _):
            losses = ticks.losses
            assert numbers(await take(ticks, 1)) == [0]
            line.hold()
            await tick(publisher, 2)
            loss = await anext(losses)
            assert (loss.id.pub, loss.id.seq, loss.is_retracted) == (9, 1, False)
            assert (ticks.counters["lost"], ticks.counters["missing"]) == (1, 0)
            line.release()
            loss = await anext(losses)
            assert (loss.id.seq, loss.is_retracted) == (1, True)
            assert (ticks.counters["lost"], ticks.counters["retracted"]) == (1, 1)

    run(program())


def test_losses_that_nobody_reads_have_a_bound() -> None:
    async def program() -> None:
        async with ticking(ordering=SURE, queue_max=1) as (line, publisher, ticks, _):
            losses = ticks.losses
            assert numbers(await take(ticks, 1)) == [0]
            for number in (2, 4, 6):
                line.lose()
                await tick(publisher, 2)
                assert numbers(await take(ticks, 1)) == [number]
            await until(lambda: ticks.counters["lost"] == 3)
        assert [loss.id.seq async for loss in losses] == [1]
        assert ticks.counters["losses_overflow"] == 2

    run(program())


def test_a_message_that_was_only_dropped_for_being_late_is_not_lost() -> None:
    for resolution in ReceiverFate:
        absence = Absence(
            subscription=1,
            id=MessageId(1, 1, 1),
            detected_ns=0,
            found_by="record",
            lost_ns=None,
            state=MissingState.RELEASED,
            resolution=resolution,
            ended_ns=1,
        )
        assert absence.is_lost == (resolution == "given_up")


def test_who_iterates_before_it_begins_is_told_how() -> None:
    async def program() -> None:
        async with network() as (_, node):
            ticks = node.subscribe(TICKS)
            with pytest.raises(UsageError, match=r"write 'async with node\.subscribe"):
                async for _message in ticks:
                    pass

    run(program())


def test_order_that_is_turned_on_again_is_as_it_was() -> None:
    async def program() -> None:
        async with (
            network() as (_, node),
            node.subscribe(TICKS, violation_probability=0.05) as one,
            node.subscribe(TICKS, order=False, ordering=PATIENT) as other,
        ):
            for ticks, latch in ((one, ConditionalLatch(0.05)), (other, PATIENT.latch)):
                ticks.adjust(order=False)
                assert ticks.ordering.latch is None
                with pytest.raises(UsageError, match="late needs order"):
                    ticks.adjust(late="drop")
                ticks.adjust(order=True)
                assert ticks.ordering.latch == latch
            one.adjust(violation_probability=0.1)
            one.adjust(order=False)
            one.adjust(order=True)
            assert one.ordering.latch == ConditionalLatch(0.1)

    run(program())


def test_who_asks_too_late_what_was_missing_finds_the_end() -> None:
    async def program() -> None:
        async with network() as (_, node):
            async with node.subscribe(TICKS) as ticks:
                pass
            assert [absence async for absence in ticks.missing] == []
            assert [loss async for loss in ticks.losses] == []

    run(program())


def test_a_subscription_is_adjusted_while_it_lasts() -> None:
    async def program() -> None:
        async with ticking(ordering=PATIENT) as (line, publisher, ticks, unordered):
            line.lose()
            await tick(publisher, 2)
            assert numbers(await take(unordered, 1)) == [2]
            # It need not wait any more for the one that was lost.
            ticks.adjust(order=False)
            assert numbers(await take(ticks, 2)) == [0, 2]
            assert ticks.ordering.latch is None
            ticks.adjust(order=True, max_delay=0.1, late="drop")
            assert ticks.ordering.max_delay_ns == 100 * MILLISECOND
            with pytest.raises(UsageError, match="max_delay"):
                ticks.adjust(max_delay=100.0)
            assert ticks.ordering.max_delay_ns == 100 * MILLISECOND
        with pytest.raises(UsageError, match="inside its 'async with'"):
            ticks.adjust(late="deliver")

    run(program())


def test_a_slow_application_loses_what_its_queue_cannot_hold() -> None:
    async def program() -> None:
        async with network() as (_, node), node.subscribe("x >= 0", queue_max=5) as ticks:
            for x in range(20):
                await node.publish({"x": x})
            await until(lambda: ticks.counters["overflow"] == 15)
            assert numbers(await take(ticks, 5)) == [0, 1, 2, 3, 4]
            await node.publish({"x": 20})
            assert numbers(await take(ticks, 1)) == [20]
            # What the application never got was not delivered.
            assert (ticks.counters["delivered"], ticks.counters["overflow"]) == (6, 15)

    run(program())


def test_what_is_queued_still_comes_when_the_subscription_has_ended() -> None:
    async def program() -> None:
        async with network() as (_, node):
            async with node.subscribe("x >= 0") as ticks:
                for x in range(3):
                    await node.publish({"x": x})
                await until(lambda: ticks.counters["delivered"] == 3)
            assert numbers([message async for message in ticks]) == [0, 1, 2]

    run(program())


def test_an_ended_subscription_is_taken_back_from_the_broker() -> None:
    async def program() -> None:
        async with network() as (broker, node):
            async with node.subscribe("x = 1"):
                await until(broker.machine.advertised)
            await until(lambda: not broker.machine.advertised())

    run(program())


def test_losses_of_which_only_the_count_is_known_are_told_and_counted() -> None:
    async def program() -> None:
        async with network() as (_, node), node.subscribe(TICKS, queue_max=2) as ticks:
            facts = [Unseen(0, 9, 1, messages, 10, 20) for messages in (1, 3, 5)]
            # Before the first look they are only counted.
            ticks.take(facts[0])
            unseen = ticks.unseen
            for fact in facts:
                ticks.take(fact)
            assert (ticks.counters["unseen"], ticks.counters["unseen_overflow"]) == (10, 1)
        assert [fact async for fact in unseen] == facts[:2]

    run(program())
