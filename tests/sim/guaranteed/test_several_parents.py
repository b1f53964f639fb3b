"""Two equivalent relays between a broker that stores streams and its hosts."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.guaranteed.application import ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork

PUBENDS = 8
RELAYS = ("left", "right")


class Diamond:
    """top – left, right – s, t: eight streams at the top, and a reader of all at each host."""

    def __init__(self, seed: int) -> None:
        self.network = network = StreamNetwork(seed)
        network.add_broker("top", streams={each + 1: f"s{each}" for each in range(PUBENDS)})
        for relay in RELAYS:
            network.add_broker(relay, parents=1)
        for host in "st":
            network.add_broker(host, parents=2)
        self.connect()
        network.run(2 * SECOND)
        self.writer = Writer(network, "writer", "top")
        self.readers = {
            host: [self.reader(host, stream) for stream in range(PUBENDS)] for host in "st"
        }
        self.published = 0

    def connect(self) -> None:
        for relay in RELAYS:
            self.network.connect(relay, "top")
            for host in "st":
                self.network.connect(host, relay)
        for client in self.network.clients.values():
            client.connect()

    def reader(self, host: str, stream: int) -> ReadingProgram:
        reader = ReadingProgram(
            self.network, f"{host}{stream}", host, stream=f"s{stream}", durable=f"{host}{stream}"
        )
        reader.open()
        self.network.run(200 * MILLISECOND)
        return reader

    def publish(self, messages: int) -> None:
        """To every stream."""
        for _ in range(messages):
            for stream in range(PUBENDS):
                self.writer.publish(f"s{stream}", {"n": self.published})
            self.published += 1
            self.network.run(20 * MILLISECOND)

    def parents(self, host: str) -> list[str | None]:
        relays = self.network.brokers[host].machine.relays
        return [relays[each + 1].parent for each in range(PUBENDS)]

    def check_all_came(self) -> None:
        for readers in self.readers.values():
            for reader in readers:
                assert reader.values() == [*range(self.published)]
                assert not reader.life.missed


def test_streams_are_spread_over_both_relays_and_hosts_choose_alike() -> None:
    net = Diamond(60)
    assert set(net.parents("s")) == set(RELAYS)
    assert net.parents("s") == net.parents("t")
    net.publish(20)
    net.network.run(SECOND)
    net.check_all_came()


@pytest.mark.parametrize("relay", RELAYS)
def test_when_one_relay_dies_its_streams_come_by_the_other_and_nothing_is_missed(
    relay: str,
) -> None:
    net = Diamond(61)
    net.publish(10)
    net.network.crash(relay)
    net.publish(50)
    net.network.run(4 * SECOND)
    net.check_all_came()
    (other,) = set(RELAYS) - {relay}
    assert net.parents("s") == [other] * PUBENDS
    # When it is back, streams stay where they are.
    net.network.restart(relay)
    net.connect()
    net.network.run(3 * SECOND)
    net.publish(20)
    net.network.run(2 * SECOND)
    assert net.parents("s") == [other] * PUBENDS
    net.check_all_came()
    assert all(broker.machine.is_idle for broker in net.network.brokers.values())


def test_a_parent_that_does_not_come_keeps_nobody_waiting_for_long() -> None:
    network = StreamNetwork(62)
    network.add_broker("top", streams={1: "s0"})
    network.add_broker("s", parents=2)
    network.connect("s", "top")
    network.run(1_500 * MILLISECOND)
    assert network.brokers["s"].machine.relays[1].parent == "top"
