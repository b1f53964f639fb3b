"""The network of one endpoint: what goes in comes out, and subscriptions are remembered."""

from __future__ import annotations

import pytest

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.content.tags import Encoder
from penstock.kernel.machine import Deliver, Send
from penstock.testing.loopback_network import LoopbackNetwork
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import Delivery
from penstock.wire.frames.base import TrafficClass, TransportFrame


def endpoint(number: int) -> Endpoint[TransportFrame]:
    return Endpoint(LoopbackNetwork(), endpoint_id=number, epoch=1, encoder=Encoder(b"test"))


def test_what_one_endpoint_sends_another_delivers() -> None:
    one, other = endpoint(1), endpoint(2)
    other.subscribe(parse("x = 1"), now=0)
    frame = one.publish(Message({"x": 1}), now=0)
    assert one.poll() == Send("", frame)
    assert one.poll() is None
    other.receive(frame, via="", now=1)
    output = other.poll()
    assert isinstance(output, Deliver)
    assert isinstance(output.item, Delivery)
    assert output.item.frame == frame


def test_subscriptions_are_remembered_until_they_end() -> None:
    network = LoopbackNetwork()
    network.subscribe(1, parse("x = 1"), now=0)
    network.subscribe(2, parse("x = 1"), traffic=TrafficClass.REQUEST, now=0)
    network.subscribe(1, parse("x = 2"), now=0)
    assert network.subscriptions == {
        1: (TrafficClass.DATA, parse("x = 2")),
        2: (TrafficClass.REQUEST, parse("x = 1")),
    }
    network.unsubscribe(1, now=0)
    assert list(network.subscriptions) == [2]
    with pytest.raises(KeyError):
        network.unsubscribe(1, now=0)


def test_nothing_is_ever_due() -> None:
    network = LoopbackNetwork()
    network.subscribe(1, parse("x = 1"), now=0)
    network.wake(now=1)
    assert network.next_wakeup() is None
    assert network.poll() is None
