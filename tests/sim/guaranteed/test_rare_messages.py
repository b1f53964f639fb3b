"""A stream with little to say through relays with narrow filters: what is rare does not lag."""

from __future__ import annotations

from itertools import pairwise

import pytest

from penstock.guaranteed.settings import BrokerSettings, RelaySettings
from penstock.kernel.instant import SECOND
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.guaranteed.steady_programs import (
    PromptReader,
    SteadyWriter,
    WantedKinds,
    bodies_of,
)

LINE = ("PB", "IB1", "IB2", "IB3", "SB")


@pytest.mark.parametrize("tells_with_queries", [True, False])
def test_publishers_are_not_slowed_down_for_messages_that_nobody_wants(
    tells_with_queries: bool,
) -> None:
    settings = BrokerSettings(relay=RelaySettings(tells_with_queries=tells_with_queries))
    network = StreamNetwork(5, settings=settings)
    network.add_broker("PB", streams={1: "one"})
    for parent, child in pairwise(LINE):
        network.add_broker(child, parents=1)
        network.connect(child, parent)
    writer = SteadyWriter(
        network,
        "writer",
        "PB",
        stream="one",
        bodies=bodies_of(345),
        rate=9,
        spread=0.2,
        rng=network.seeds.rng("writer"),
    )
    network.run(SECOND)
    reader = PromptReader(network, "reader", "SB", streams=("one",), wanted=WantedKinds(1))
    reader.open()
    network.run(SECOND)
    writer.start(network.events.now, until=network.events.now + 40 * SECOND)
    network.run(40 * SECOND)
    assert sum(reader.delivered.values()) >= 30
    throttled_ns = (
        network.brokers["PB"].machine.pubends[1].throttle.throttled_ns(network.events.now)
    )
    # Where relays say silence in their own time only, it takes that long at each of them.
    assert (throttled_ns == 0) == tells_with_queries
