"""Repairs wait while a queue is half full, unless settings say otherwise: then it overflows."""

from __future__ import annotations

import pytest

from penstock.guaranteed.settings import (
    BrokerSettings,
    CongestionSettings,
    LinkSettings,
    PubendSettings,
    RelaySettings,
)
from penstock.kernel.instant import MILLISECOND

from .line import Line

MESSAGES = 400


@pytest.mark.parametrize("waits", [True, False])
def test_repairs_overflow_a_queue_only_if_they_do_not_wait(waits: bool) -> None:
    pubend = PubendSettings(repairs_wait=waits, repair_slice_bytes=200)
    # Relays cache nothing: what they know they say at once.
    relay, link = RelaySettings(cache_ns=MILLISECOND), LinkSettings(queue_bytes=12_000)
    # So much is asked for at once that it does not fit.
    asks = CongestionSettings(window_law="fixed")
    settings = BrokerSettings(pubend=pubend, relay=relay, link=link, congestion=asks)
    line = Line(31, settings, link_window_bytes=1_000)
    reader = line.reader("r", window=4_000)
    line.publish(1)
    line.run(1_000)
    line.network.cut("i", "p")
    line.publish(MESSAGES, every_ms=2)
    line.network.set_rate("i", "p", 100_000)
    line.connect()
    line.run(2_500)
    queue = line.network.brokers["p"].machine.queues["i"]
    assert (queue.dropped == 0) == waits
    line.network.set_rate("i", "p", None)
    line.run(10_000)
    assert reader.values() == [*range(MESSAGES + 1)]
