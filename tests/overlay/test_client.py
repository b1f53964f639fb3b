"""The client's side, and what a transport may rely on."""

from __future__ import annotations

import pytest

from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.kernel.machine import Deliver, Send
from penstock.overlay.client import OverlayClient
from penstock.overlay.settings import OverlaySettings
from penstock.transport.network import Network
from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.hello import Hello
from penstock.wire.frames.notify import Notify
from tests.frames import data


def said(client: OverlayClient) -> list[OverlayFrame]:
    frames: list[OverlayFrame] = []
    while (output := client.poll()) is not None:
        assert isinstance(output, Send)
        frames.append(output.frame)
    return frames


def names(client: OverlayClient) -> list[str]:
    return [type(frame).__name__ for frame in said(client)]


def hello(epoch: int = 1, *, heard: bool = True, network: int = 0) -> Hello:
    return Hello(broker=3, epoch=epoch, network=network, heard=heard)


@pytest.fixture
def client() -> OverlayClient:
    """Connected, with one subscription."""
    client = OverlayClient("up", 7)
    client.link_up(now=0)
    client.subscribe(1, parse("x = 1"), now=0)
    client.receive(hello(heard=False), via="up", now=0)
    assert names(client) == ["Hello", "Sub"]
    return client


def test_it_is_a_network() -> None:
    network: Network[OverlayFrame] = OverlayClient("up", 1)
    assert network.poll() is None


def test_it_says_hello_every_second(client: OverlayClient) -> None:
    for second in range(1, 4):
        assert client.next_wakeup() == second * SECOND
        client.wake(now=second * SECOND)
        client.receive(hello(heard=True), via="up", now=second * SECOND)
        greeting, *others = said(client)
        assert greeting == Hello(broker=0, epoch=7, network=0, heard=True)
        # What is new is said three times in all, should it have been lost.
        assert [type(frame).__name__ for frame in others] == (["Sub"] if second < 3 else [])


def test_what_is_taken_back_is_not_said_again(client: OverlayClient) -> None:
    client.unsubscribe(1, now=0)
    assert names(client) == ["Unsub"]
    client.wake(now=SECOND)
    assert names(client) == ["Hello"]


@pytest.mark.parametrize(
    "answer", [hello(epoch=2), hello(heard=False), Hello(broker=4, epoch=1, network=0, heard=True)]
)
def test_it_says_all_again_to_a_broker_that_cannot_know(
    client: OverlayClient, answer: Hello
) -> None:
    client.receive(hello(), via="up", now=SECOND)
    assert names(client) == []
    client.receive(answer, via="up", now=SECOND)
    assert names(client) == ["Sub"]


def test_it_says_all_again_after_silence(client: OverlayClient) -> None:
    client.wake(now=4 * SECOND)
    assert not client.is_connected
    client.unsubscribe(1, now=4 * SECOND)
    client.subscribe(2, parse("x = 2"), now=4 * SECOND)
    said(client)
    client.receive(hello(), via="up", now=5 * SECOND)
    assert [getattr(frame, "subscription", None) for frame in said(client)] == [2]


def test_without_a_link_nothing_is_sent(client: OverlayClient) -> None:
    client.link_down(now=SECOND)
    client.subscribe(2, parse("x = 2"), now=SECOND)
    client.publish(data(1, {}), now=SECOND)
    client.receive(hello(), via="up", now=SECOND)
    assert names(client) == []
    assert client.next_wakeup() is None
    assert client.counters["no_link"] == 1
    client.link_up(now=2 * SECOND)
    client.receive(hello(), via="up", now=2 * SECOND)
    assert names(client) == ["Hello", "Sub", "Sub"]


def test_what_arrives_is_handed_up(client: OverlayClient) -> None:
    frame = data(1, {"x": 1})
    client.receive(Notify(carried=CarriedFrame(frame)), via="up", now=0)
    assert client.poll() == Deliver(frame)


def test_what_a_broker_does_not_say_is_counted(client: OverlayClient) -> None:
    client.receive(hello(network=9), via="up", now=0)
    client.receive(hello(), via="elsewhere", now=0)
    client.receive(Hello(broker=0, epoch=1, network=0, heard=True), via="up", now=0)
    assert client.counters["malformed"] == 3
    assert names(client) == []


@pytest.mark.parametrize(
    "wrong",
    [{"hello_ns": 0}, {"dead_ns": SECOND}, {"expire_ns": SECOND}, {"links_max": 1000}],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=r"_ns|links_max"):
        OverlaySettings(**wrong)
