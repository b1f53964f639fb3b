"""What crosses a link once, again because it must, and again for nothing."""

from __future__ import annotations

from penstock.guaranteed.settings import BrokerSettings, RelaySettings
from penstock.kernel.instant import SECOND
from penstock.kernel.interval_set import IntervalSet
from penstock.sim.guaranteed.crossings import CrossingCounter, LinkCrossings

from .line import PUBEND, Line


def counts(counter: CrossingCounter) -> dict[tuple[str, str], tuple[int, int, int]]:
    return {(parent, child): found[:3] for parent, child, pubend, found in counter.take()
            if pubend == PUBEND}  # fmt: skip


def line_of(cache_ns: int | None) -> tuple[Line, CrossingCounter]:
    line = Line(21, BrokerSettings(relay=RelaySettings(cache_ns=cache_ns)))
    counter = CrossingCounter(line.network.brokers)
    line.network.watchers.append(counter)
    # Somebody else reads, so that the relay gets everything while the host is cut off.
    line.network.add_broker("t", parents=1)
    line.network.connect("t", "i")
    line.run(100)
    line.reader("there", "t")
    line.reader("away", "s")
    return line, counter


def test_a_message_is_first_then_a_repair_if_it_is_lacking_and_then_a_repeat() -> None:
    link, lacking = LinkCrossings(), IntervalSet([(0, 10)])
    for tick in (3, 3, 3, 20, 20):
        link.cross(tick, lacking, 100)
    # The first crossing of 3 has brought it: what it lacked before does not count.
    assert link.take() == (2, 0, 3, 200)
    lacking.add(3, 4)
    link.cross(3, lacking, 50)
    assert link.take() == (0, 1, 0, 50)


def test_everything_crosses_each_link_once() -> None:
    line, counter = line_of(None)
    line.publish(20)
    line.run(1_000)
    assert counts(counter) == {
        ("p", "i"): (20, 0, 0), ("i", "s"): (20, 0, 0), ("i", "t"): (20, 0, 0),
    }  # fmt: skip


def test_a_relay_that_has_cached_it_needs_no_second_crossing() -> None:
    line, counter = line_of(None)
    line.network.cut("s", "i")
    line.publish(20)
    line.connect()
    line.run(2_000)
    assert counts(counter)["p", "i"] == (20, 0, 0)


def test_what_the_cache_has_given_up_has_to_cross_again() -> None:
    line, counter = line_of(SECOND // 10)
    line.network.cut("s", "i")
    line.publish(20)
    line.run(2_000)
    line.connect()
    line.run(2_000)
    found = counts(counter)
    assert found["p", "i"] == (20, 20, 0)
    assert found["i", "s"] == (20, 0, 0)
