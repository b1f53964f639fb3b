"""Many hosts behind one link that was cut: what all have missed crosses it about once."""

from __future__ import annotations

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


def test_hosts_that_were_cut_off_together_catch_up_together() -> None:
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
    readers = [ReadingProgram(network, f"r-{h}", h, stream="orders", durable=h) for h in HOSTS]
    for reader in readers:
        reader.open()

    def publish(seconds: int) -> None:
        for _ in range(PER_S * seconds):
            writer.publish("orders", {"n": len(writer.published), "padding": "x" * 350})
            network.run(SECOND // PER_S)

    publish(12)
    network.cut("i", "p")
    publish(6)
    network.connect("i", "p")
    publish(1)
    readings = [network.brokers[name].machine.host.readings[PUBEND] for name in HOSTS]
    assert all(reading.is_recovering for reading in readings)
    publish(20)
    assert not any(reading.is_recovering for reading in readings)
    assert not writer.unconfirmed
    network.run(2 * SECOND)
    assert all(reader.values() == [*range(len(writer.published))] for reader in readers)
    assert all(broker.machine.is_idle for broker in network.brokers.values())
