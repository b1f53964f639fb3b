"""Real processes and `kill -9`: what was confirmed is delivered, once and in order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import pytest

import penstock.streams
from penstock.guaranteed.settings import BrokerSettings
from tests.live.guaranteed.processes.network import Network, network
from tests.live.guaranteed.processes.process import wait_until

# What is promised: so long after a relay is lost, messages come by another one.
RESUMES_S: Final = 4.0
# And so long it takes to notice one that is there and says nothing.
SILENCE_S: Final = 3.0
PING_S: Final = 1.0


def every_tenth(number: int) -> bool:
    return number % 10 == 3


def row(net: Network) -> None:
    """Three brokers in a row: one has the stream, one passes it on, one has the readers."""
    net.broker("top")
    net.broker("relay", "top")
    net.broker("edge", "relay")
    net.reader("cursor", "edge")
    net.reader("checkpoint", "edge", keeps_checkpoints=True)


def fork(net: Network) -> None:
    """Two edges below one relay, and readers at every broker."""
    net.broker("top")
    net.broker("relay", "top")
    net.broker("left", "relay")
    net.broker("right", "relay")
    net.reader("left-all", "left")
    net.reader("left-some", "left", filter_="k = 3", wanted=every_tenth)
    net.reader("right-all", "right", keeps_checkpoints=True)
    net.reader("top-some", "top", filter_="k = 3", wanted=every_tenth, keeps_checkpoints=True)


def diamond(net: Network) -> None:
    """Two relays that are each other's substitute."""
    net.broker("top")
    net.broker("left", "top")
    net.broker("right", "top")
    net.broker("edge", "left", "right")
    net.reader("cursor", "edge")
    net.reader("checkpoint", "edge", keeps_checkpoints=True)


def kill_some(net: Network, kills: int, seed: int, *, every_s: float, late_s: float) -> None:
    """Kills any process, or two at once, and starts them again soon or late."""
    rng = Random(seed)
    killed = 0
    while killed < kills:
        time.sleep(rng.uniform(0.05, every_s))
        victims = rng.sample(net.processes(), rng.choice((1, 1, 1, 2)))
        for victim in victims:
            assert victim.is_running, f"{victim.name} has ended: {victim.said()}"
        for victim in victims:
            # Some brokers that listen are asked to end, which must be as safe.
            if rng.random() < 0.15 and "listens at" in victim.said():
                assert victim.stop() == 0, victim.said()
            else:
                victim.kill()
        # Most are back at once, some only when others have long missed them.
        time.sleep(rng.choice((0.0, 0.0, 0.1, 0.3, rng.uniform(0.0, late_s))))
        for victim in rng.sample(victims, len(victims)):
            victim.start()
        killed += len(victims)


def test_ten_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    with network(tmp_path) as net:
        row(net)
        net.publisher("top", per_s=400)
        net.wait_busy()
        kill_some(net, 10, seed=1, every_s=0.5, late_s=0.5)
        assert net.finish() > 0


def only_right_carries(net: Network) -> None:
    """A diamond, in which both relays are there and readers get everything by the right one.

    A stream stays where it has moved to.
    """
    diamond(net)
    net.publisher("top", per_s=200)
    net.wait_busy()
    net.brokers["left"].kill()
    net.wait_read(net.confirmed + 100)
    net.brokers["left"].start()
    wait_until(
        "edge is linked to left again",
        lambda: net.brokers["edge"].said().count("linked to parent left") == 2,
    )


def silence_s(net: Network, since_ns: int) -> float:
    """How long readers wait for the next message, until they are as far as the publisher."""
    net.wait_read(net.confirmed + 100)
    return net.longest_silence_s(since_ns)


def test_readers_go_on_by_the_other_relay_within_4_s_of_a_kill(tmp_path: Path) -> None:
    with network(tmp_path) as net:
        only_right_carries(net)
        begun_ns = time.monotonic_ns()
        net.brokers["right"].kill()
        silent_s = silence_s(net, begun_ns)
        print(f"readers waited {silent_s:.2f} s")
        assert silent_s < RESUMES_S
        net.brokers["right"].start()
        net.brokers["right"].wait_ready()
        assert net.finish() > 0


def test_a_relay_that_only_stops_is_noticed_by_its_silence(tmp_path: Path) -> None:
    """No socket is closed: after 3 s without a byte the link is given up."""
    with network(tmp_path) as net:
        only_right_carries(net)
        begun_ns = time.monotonic_ns()
        net.brokers["right"].suspend()
        silent_s = silence_s(net, begun_ns)
        print(f"readers waited {silent_s:.2f} s")
        # Less would mean that it was not this relay that carried the stream; its last PING may have
        # come a second before it was stopped.
        assert SILENCE_S - PING_S < silent_s < SILENCE_S + RESUMES_S
        net.brokers["right"].resume()
        assert net.finish() > 0


def throttled_s(address: str) -> float:
    """For how long the publisher was slowed down, in the present life of the top."""

    async def main() -> float:
        async with penstock.streams.connect(address, timeout="30s") as node:
            (stream,) = (await node.request("list", {}))["streams"]
            return float(sum(each["throttled_seconds"] for each in stream["throttles"]))

    return asyncio.run(main())


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shape", [row, fork, diamond])
def test_many_kills_lose_nothing_and_double_nothing(
    tmp_path: Path, shape: Callable[[Network], None], seed: int
) -> None:
    """With congestion control, as brokers have it when nobody turns it off."""
    assert BrokerSettings().congestion.rate_law == "model"
    with network(tmp_path) as net:
        shape(net)
        net.publisher("top", per_s=400)
        net.wait_busy()
        kill_some(net, 50, seed, every_s=2.0, late_s=5.0)
        confirmed = net.finish()
        slowed_s = throttled_s(net.brokers["top"].address)
        print(f"{confirmed} messages; the last top slowed its publisher down for {slowed_s:.1f} s")
        assert confirmed > 0
