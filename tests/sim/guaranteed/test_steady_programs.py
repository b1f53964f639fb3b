"""Writers keep their rate, readers get the share they want, and messages have their size."""

from __future__ import annotations

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.guaranteed.sim_broker import size_of
from penstock.sim.guaranteed.steady_programs import (
    KINDS,
    PromptReader,
    SteadyWriter,
    WantedKinds,
    bodies_of,
)
from penstock.wire.frames.guaranteed.knowledge import Data


def test_every_kind_of_message_has_the_same_size_on_a_link() -> None:
    bodies = bodies_of(345)
    sizes = {size_of(Data(pubend=1, start=0, tick=5, published_ns=9, body=body)) for body in bodies}
    assert sizes == {345}
    assert len({*bodies}) == KINDS


def test_a_message_cannot_be_smaller_than_its_frame() -> None:
    with pytest.raises(UsageError, match=r"at least \d+ bytes"):
        bodies_of(20)


@pytest.mark.parametrize(("wanted_kinds", "share"), [(KINDS, 1), (4, 0.4), (1, 0.1)])
def test_a_reader_gets_what_it_wants_of_what_is_confirmed(wanted_kinds: int, share: float) -> None:
    network = StreamNetwork(1)
    network.add_broker("PB", streams={1: "one"})
    network.add_broker("SB", parents=1)
    network.connect("SB", "PB")
    writer = SteadyWriter(
        network,
        "writer",
        "PB",
        stream="one",
        bodies=bodies_of(345),
        rate=50,
        spread=0.2,
        rng=network.seeds.rng("writer"),
    )
    network.run(SECOND // 2)
    reader = PromptReader(
        network, "reader", "SB", streams=("one",), wanted=WantedKinds(wanted_kinds)
    )
    reader.open()
    network.run(SECOND // 2)
    writer.start(network.events.now, until=network.events.now + 10 * SECOND)
    network.run(11 * SECOND)
    confirmed = sum(writer.confirmed)
    assert 490 <= confirmed <= 510
    # Kinds come in turn.
    assert max(writer.confirmed) - min(writer.confirmed) <= 1
    assert reader.delivered == {1: sum(writer.confirmed[:wanted_kinds])}
    assert reader.delivered[1] == pytest.approx(share * confirmed, abs=4)
    assert all(broker.machine.is_idle for broker in network.brokers.values())
