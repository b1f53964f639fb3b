"""The same script gives the same deliveries in the simulator and over sockets."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.transport.settings import OFF, OrderingSettings, constant
from penstock.wire.limits import RECORD_ENTRIES_MAX
from tests.live.loopback import run
from tests.live.scripts import (
    Adjust,
    Mishap,
    OnSockets,
    Outcome,
    Publish,
    Simulated,
    Step,
    Subscribe,
    Unsubscribe,
)

# Latches that do not depend on what delays a machine happens to have: far longer than any
# step takes, and over before anybody looks.
PATIENT = constant(2 * SECOND, record_used=RECORD_ENTRIES_MAX)
HASTY = constant(MILLISECOND, record_used=RECORD_ENTRIES_MAX)


def ibm(price: int) -> dict[str, str | int]:
    return {"symbol": "IBM", "price": price}


WANT_IBM = 'symbol = "IBM"'

PLAIN: list[Step] = [
    Subscribe("bob", "all of bob's", WANT_IBM),
    Subscribe("cat", "cheap", 'symbol = "IBM" and price < 100'),
    Publish("ann", ibm(90)),
    Publish("ann", {"symbol": "ARM", "price": 1}),
    Publish("ann", ibm(120)),
    Publish("bob", ibm(80)),
    Subscribe("ann", "ann's own", "price > 100", OFF),
    Publish("cat", {"price": 101, "currency": "€", "odd": True, "share": 0.25}),
    Publish("ann", ibm(130)),
    Unsubscribe("all of bob's"),
    Publish("ann", ibm(95)),
    Subscribe("bob", "bob's again", WANT_IBM),
    Publish("ann", ibm(99)),
    Publish("cat", ibm(98)),
    Unsubscribe("cheap"),
    Unsubscribe("ann's own"),
    Unsubscribe("bob's again"),
]

MISHAPS: list[Step] = [
    Subscribe("bob", "patient", WANT_IBM, PATIENT),
    Subscribe("bob", "hasty", WANT_IBM, HASTY),
    Subscribe("cat", "strict", WANT_IBM, OrderingSettings(latch=HASTY.latch, late="drop")),
    Subscribe("cat", "as it comes", WANT_IBM, OFF),
    Publish("ann", ibm(1)),
    # Overtaken by two, of which one is for nobody.
    Mishap("ann", "hold"),
    Publish("ann", ibm(2)),
    Publish("ann", {"symbol": "ARM"}),
    Publish("ann", ibm(3)),
    Mishap("ann", "release"),
    # Lost; the patient one waits until it is told not to.
    Mishap("ann", "lose"),
    Publish("ann", ibm(4)),
    Publish("ann", ibm(5)),
    Publish("ann", ibm(6)),
    Adjust("patient", {"max_delay": 0.0}),
    Publish("ann", ibm(7)),
    # Lost, and nobody wanted it.
    Mishap("ann", "lose"),
    Publish("ann", {"symbol": "ARM"}),
    Publish("ann", ibm(8)),
    # Still held when the subscriptions end.
    Adjust("patient", {"max_delay": 2.0}),
    Mishap("ann", "lose"),
    Publish("ann", ibm(9)),
    Publish("ann", ibm(10)),
    Unsubscribe("patient"),
    Unsubscribe("hasty"),
    Unsubscribe("strict"),
    Unsubscribe("as it comes"),
]


def both(script: list[Step]) -> tuple[dict[str, Outcome], dict[str, Outcome]]:
    simulated = Simulated()
    goals = [simulated.perform(step) for step in script]

    async def program() -> dict[str, Outcome]:
        async with AsyncExitStack() as stack:
            on_sockets = OnSockets(stack)
            await on_sockets.start()
            for step, goal in zip(script, goals, strict=True):
                await on_sockets.perform(step, goal)
            return await on_sockets.outcomes()

    return simulated.outcomes, run(program())


@pytest.mark.parametrize("script", [PLAIN, MISHAPS], ids=["plain", "mishaps"])
def test_the_simulator_and_sockets_deliver_the_same(script: list[Step]) -> None:
    simulated, live = both(script)
    assert live == simulated


def test_the_mishaps_show_every_fate() -> None:
    simulated = Simulated()
    for step in MISHAPS:
        simulated.perform(step)
    got = {
        name: [(message.number, message.fate) for message in outcome.got][:3]
        for name, outcome in simulated.outcomes.items()
    }
    assert got == {
        "patient": [(0, "delivered"), (1, "delivered"), (3, "delivered")],
        "hasty": [(0, "delivered"), (3, "delivered"), (1, "delivered_late")],
        "strict": [(0, "delivered"), (3, "delivered"), (5, "delivered")],
        "as it comes": [(0, "delivered"), (3, "delivered"), (1, "delivered")],
    }
    missed = {
        name: [(absence.number, absence.resolution) for absence in outcome.missed]
        for name, outcome in simulated.outcomes.items()
    }
    assert missed == {
        "patient": [(1, "delivered"), (4, "given_up"), (10, "given_up")],
        "hasty": [(1, "delivered_late"), (4, "given_up"), (10, "given_up")],
        "strict": [(1, "dropped_late"), (4, "given_up"), (10, "given_up")],
        "as it comes": [],
    }
