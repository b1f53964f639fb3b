"""Many hosts behind one link that was cut: what they have missed crosses it about once."""

from __future__ import annotations

import pytest

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.guaranteed.settings import BrokerSettings, HostSettings
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.guaranteed.application import ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork

from .line import ORDERS, PUBEND

HOSTS = [f"h{at}" for at in range(12)]
# Of messages of some 400 bytes.
PER_S = 40
# Twice what is published, and less than all hosts would take one by one.
LINK_BPS = 8 * 32_000


MIXED = ("true", "k = 1", "k < 2", "k = 7")
# None of them wants all that comes by the link.
APART = ("k < 2", "k > 1", "k > 0", "k < 3")


def wanted(text: str, published: int) -> list[int]:
    """The numbers of the messages that a reader gets."""
    predicate = parse(text)
    return [n for n in range(published) if predicate.matches(Message({"k": n % 4}))]


@pytest.mark.parametrize(
    ("filters", "restarts"),
    [(("true",), False), (MIXED, True), (APART, False)],
    ids=["alike", "mixed, relay restarted", "apart"],
)
def test_hosts_that_were_cut_off_together_catch_up_together(
    filters: tuple[str, ...], restarts: bool
) -> None:
    settings = BrokerSettings(host=HostSettings(receive_window_ns=2 * SECOND))
    network = StreamNetwork(70, settings=settings)
    network.add_broker("p", streams=dict(ORDERS))
    network.add_broker("i", parents=1)
    network.set_rate("i", "p", LINK_BPS)
    network.connect("i", "p")
    for name in HOSTS:
        network.add_broker(name, parents=1)
        network.connect(name, "i")
    network.run(100 * MILLISECOND)
    writer = Writer(network, "writer", "p")
    wants = [filters[at % len(filters)] for at in range(len(HOSTS))]
    readers = [
        ReadingProgram(network, f"r-{h}", h, stream="orders", durable=h, predicate=parse(text))
        for h, text in zip(HOSTS, wants, strict=True)
    ]
    for reader in readers:
        reader.open()

    def publish(seconds: int) -> None:
        for _ in range(PER_S * seconds):
            n = len(writer.published)
            writer.publish("orders", {"n": n, "k": n % 4, "padding": "x" * 350})
            network.run(SECOND // PER_S)

    publish(12)
    if restarts:
        network.crash("i")
    else:
        network.cut("i", "p")
    publish(6)
    if restarts:
        network.restart("i")
    network.connect("i", "p")
    for name in HOSTS:
        network.connect(name, "i")
    publish(1)
    readings = [network.brokers[name].machine.host.readings[PUBEND] for name in HOSTS]
    assert all(reading.is_recovering for reading in readings)
    publish(20)
    assert not any(reading.is_recovering for reading in readings)
    assert not writer.unconfirmed
    network.run(2 * SECOND)
    for reader, text in zip(readers, wants, strict=True):
        assert reader.values() == wanted(text, len(writer.published))
    assert all(broker.machine.is_idle for broker in network.brokers.values())
