"""What a relay asks its parent for, and what it grants its children."""

from __future__ import annotations

from penstock.content.filter import Predicate
from penstock.content.syntax import parse
from penstock.guaranteed.relay.relay import Relay
from penstock.guaranteed.settings import RelaySettings
from penstock.guaranteed.stream_item import EVERYTHING, NOTHING
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest

SOME = parse("k = 1")


def request(epoch: int, predicate: Predicate) -> FilterRequest:
    return FilterRequest(pubend=1, epoch=epoch, predicate=predicate)


def test_a_filter_waits_while_a_narrower_one_is_on_its_way_to_the_parent() -> None:
    """Between the two answers of the parent, what the child wants is silence."""
    sent: list[tuple[str, BrokerFrame]] = []
    relay = Relay(1, settings=RelaySettings(), send=lambda port, frame: sent.append((port, frame)))

    def granted(port: str) -> list[int]:
        return [f.epoch for to, f in sent if to == port and isinstance(f, FilterAck)]

    relay.child_up("wide")
    relay.child_up("narrow")
    relay.parent_up("parent")
    relay.receive_from_child("wide", request(1, EVERYTHING), now=0)
    relay.receive_from_parent(FilterAck(pubend=1, epoch=1, tick=100), now=0)
    # The one goes away; with the next request of the other the parent is asked for less.
    relay.receive_from_child("wide", request(2, NOTHING), now=0)
    relay.receive_from_child("narrow", request(1, SOME), now=0)
    assert granted("wide") == [1, 2]
    relay.receive_from_child("wide", request(3, EVERYTHING), now=0)
    asked = [f.epoch for to, f in sent if to == "parent" and isinstance(f, FilterRequest)]
    assert asked == [1, 2, 3]
    assert granted("wide") == [1, 2]
    relay.receive_from_parent(FilterAck(pubend=1, epoch=2, tick=200), now=0)
    assert granted("wide") == [1, 2]
    relay.receive_from_parent(FilterAck(pubend=1, epoch=3, tick=300), now=0)
    assert granted("wide") == [1, 2, 3]
    assert [f.tick for to, f in sent if to == "wide" and isinstance(f, FilterAck)][-1] == 300
