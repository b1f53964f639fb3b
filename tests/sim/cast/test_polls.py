"""Whoever is about to be given up is asked once more, alone and with no patience."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import MILLISECOND, Instant
from penstock.kernel.machine import Port
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.checkers.cast.base import CastChecker
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.header import Flag
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.transfer import End
from tests.sim.cast.faulty_worlds import BY_NAME, begin, finish, scene


class Polls(CastChecker):
    """When each node was polled by its neighbour, and when it reported."""

    name = "polls"

    def __init__(self, network: CastNetwork) -> None:
        super().__init__()
        self._network = network
        self.polled: dict[tuple[str, Port], list[Instant]] = {}
        self.reported: dict[str, list[Instant]] = {}

    def sent(self, node: str, port: Port, frame: CastFrame) -> None:
        if not isinstance(frame, Packet):
            return
        now = self._network.events.now
        if isinstance(frame.body, End) and frame.header.flags & Flag.POLL:
            self.polled.setdefault((node, port), []).append(now)
        elif isinstance(frame.body, Report):
            self.reported.setdefault(node, []).append(now)


def test_who_is_silent_is_polled_alone_and_then_given_up() -> None:
    swarm = scene()
    polls = Polls(swarm.network)
    swarm.checkers.append(polls)
    begin(swarm)
    swarm.network.run(400 * MILLISECOND)
    swarm.network.cut("r0", "h0")
    finish(swarm)
    [(at, finished)] = swarm.sender.finished
    assert finished.failed == (swarm.network.nodes["h0"].number,)
    assert set(polls.polled) == {("p", "r0"), ("r0", "h0")}
    assert max(polls.polled["r0", "h0"]) < at


@pytest.mark.parametrize(
    ("world", "above", "silent"), [("star", "r0", "h0"), ("tree", "r3", "h0"), ("tree", "r0", "r1")]
)
def test_who_is_polled_answers_at_once_and_is_kept(world: str, above: str, silent: str) -> None:
    """Its reports are lost, until it is polled; a relay point answers for those below it."""
    swarm = scene(world=BY_NAME[world], filter_ones_max=22 if world == "tree" else 99)
    network = swarm.network
    polls = Polls(network)
    swarm.checkers.append(polls)
    begin(swarm)
    network.run(400 * MILLISECOND)
    network.faults(silent, above).lost_kinds = ("Report",)
    while (above, silent) not in polls.polled:
        network.run(MILLISECOND)
    network.faults(silent, above).mend()
    [polled_at] = polls.polled[above, silent]
    finish(swarm)
    assert [fact.failed for _, fact in swarm.sender.finished] == [()]
    assert all(receiver.is_complete for receiver in swarm.receivers)
    answered_at = min(at for at in polls.reported[silent] if at > polled_at)
    # As soon as it has heard of it.
    assert answered_at == polled_at + 5 * MILLISECOND
