"""Hosts and names that were forgotten, and come back all the same."""

from __future__ import annotations

from penstock.guaranteed.settings import BrokerSettings, PubendSettings, RelaySettings, Retention
from penstock.kernel.instant import SECOND
from penstock.sim.guaranteed.application import ReadingProgram
from penstock.wire.frames.guaranteed.base import GapReason

from .asking import Operator
from .line import PUBEND, Line

# Some thirty messages are kept, and hardly any on the way.
TRIMS = BrokerSettings(
    pubend=PubendSettings(retention=Retention(size_bytes=4_000)),
    relay=RelaySettings(cache_bytes=500),
)


def test_a_host_that_comes_back_after_it_was_forgotten_is_told_of_a_gap_and_kept_for() -> None:
    line = Line(1, TRIMS)
    for broker in line.network.brokers.values():
        broker.disk.roll_records = 8
    reader = line.reader("billing")
    line.publish(5)
    line.run(1_000)
    line.network.crash("s")
    operator = Operator(line.network, "p")
    pubend = line.network.brokers["p"].machine.pubends[PUBEND]
    line.run(1_000)
    assert operator.ask("forget", host="s") == {}
    line.publish(100)
    line.run(1_000)
    assert pubend.stored.trimmed_upto
    line.network.restart("s")
    line.connect()
    line.run(3_000)
    assert {gap.reason for gap in reader.life.missed} == {GapReason.RETENTION}
    assert reader.values()[:5] == [*range(5)]
    gaps = len(reader.life.missed)
    # Whatever it reads from now on is kept until it has.
    assert list(pubend.rows.by_host) == ["s"]
    line.network.crash("s")
    line.publish(10)
    line.run(1_000)
    line.network.restart("s")
    line.connect()
    line.run(3_000)
    assert reader.values()[-10:] == [*range(105, 115)]
    assert len(reader.life.missed) == gaps


def test_a_program_that_comes_back_after_its_name_has_expired_is_told_of_a_gap() -> None:
    line = Line(2, TRIMS)
    for broker in line.network.brokers.values():
        broker.disk.roll_records = 8
    reader = ReadingProgram(
        line.network, "reader", "s", stream="orders", durable="billing", expire_s=2
    )
    line.run(50)
    reader.open()
    line.run(100)
    line.publish(5)
    line.run(1_000)
    reader.client.disconnect()
    line.network.run(4 * SECOND)
    assert not line.network.brokers["s"].machine.host.durables
    line.publish(100)
    line.run(1_000)
    reader.client.connect()
    line.run(3_000)
    line.publish(1)
    line.run(1_000)
    assert {gap.reason for gap in reader.life.missed} == {GapReason.RETENTION}
    assert reader.values()[:5] == [*range(5)]
    assert reader.values()[-1] == 105
