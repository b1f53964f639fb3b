"""From filters wanted to adverts that say so."""

from __future__ import annotations

from penstock.kernel.instant import SECOND
from penstock.overlay.routing.advertiser import Advertiser
from penstock.overlay.settings import OverlaySettings
from penstock.wire.frames.base import TrafficClass
from tests.overlay.net import Net, line


def test_a_filter_in_place_of_another_is_one_delta() -> None:
    announcer = Advertiser(1, 0, TrafficClass.DATA, 32)
    announcer.update([1, 2, 3])
    (delta,) = announcer.update([1, 2, 4])
    assert (delta.full, delta.added, delta.removed) == (False, (4,), (3,))


def test_a_delta_that_does_not_fit_a_frame_adds_before_it_removes() -> None:
    announcer = Advertiser(1, 0, TrafficClass.DATA, 32)
    announcer.update(range(100))
    deltas = announcer.update([*range(50), *range(100, 150)])
    assert [(len(delta.added), len(delta.removed)) for delta in deltas] == [
        (44, 0), (6, 0), (0, 44), (0, 6),
    ]  # fmt: skip


def test_a_full_table_has_room_for_a_filter_in_place_of_another() -> None:
    net = Net(settings=OverlaySettings(origin_filters_max=4, filters_max=8))
    line(net, 3)
    net.start("1", "2", "3")
    net.client("c", "3")
    for number in range(4):
        net.subscribe("c", number, f"x = {number}")
    net.run(SECOND)
    net.subscribe("c", 3, "x = 9")
    net.run(SECOND)
    assert net.brokers["1"].advertised_by(3) == net.brokers["3"].advertised()
    assert [broker.counters["malformed"] for broker in net.brokers.values()] == [0, 0, 0]
