"""A host behind a narrow link that was stopped: it recovers, and publishers go on meanwhile."""

from __future__ import annotations

import json
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from tests.live.guaranteed.processes.journal import read_journal
from tests.live.guaranteed.processes.narrow_link import NarrowLink, NoNamespacesError, narrow_link
from tests.live.guaranteed.processes.network import Network, network
from tests.live.guaranteed.processes.process import Process, wait_until

STREAMS: Final = ("s1", "s2", "s3", "s4")
BYTES_PER_S: Final = 250 * 1_024
# Of each stream; a message is 345 bytes on the link, 48 to 50 of them without a payload.
PER_S: Final = 125.0
PAYLOAD_BYTES: Final = 295
STOPPED_S: Final = 30.0
# Publishers keep at least this share of what they want.
FLOOR: Final = 0.25
# As near as this to the publisher a reader has caught up.
NEAR_S: Final = 1.5
TIMEOUT_S: Final = 150.0


@pytest.fixture
def link() -> Iterator[NarrowLink]:
    """A link into a network of its own."""
    try:
        with narrow_link(bytes_per_s=BYTES_PER_S) as found:
            yield found
    except NoNamespacesError as error:
        pytest.skip(f"a narrow link needs root and network namespaces: {error}")


class Curve:
    """How far something was at a time."""

    def __init__(self, rows: list[dict[str, Any]], key: str) -> None:
        found = [row for row in rows if key in row]
        self.at_ns: Final[list[int]] = [row["at_ns"] for row in found]
        self.numbers: Final[list[int]] = [
            row[key] if isinstance(row[key], int) else row[key][-1][0] for row in found
        ]

    def at(self, at_ns: int) -> int:
        """The last number by then."""
        place = bisect_right(self.at_ns, at_ns)
        return self.numbers[place - 1] if place else 0

    def per_s(self, begin_ns: int, end_ns: int) -> float:
        """How many a second between two times."""
        return (self.at(end_ns) - self.at(begin_ns)) * 1e9 / (end_ns - begin_ns)


def published(net: Network) -> dict[str, Curve]:
    return {
        stream: Curve(read_journal(each.journal), "confirmed")
        for stream, each in net.publishings.items()
    }


def read(net: Network) -> dict[str, Curve]:
    return {each.stream: Curve(read_journal(each.journal), "got") for each in net.readings.values()}


def has_caught_up(net: Network, at_ns: int) -> bool:
    """Whether all readers had by then what was confirmed a moment before."""
    said, got = published(net), read(net)
    before_ns = at_ns - int(NEAR_S * 1e9)
    return all(got[stream].at(at_ns) >= said[stream].at(before_ns) for stream in STREAMS)


class Watched:
    """`penstock stream status --watch` of one broker, and what it has said last."""

    def __init__(self, name: str, address: str, link: NarrowLink | None, directory: Path) -> None:
        command = ("-m", "penstock", "stream", "status", "--watch", "--json", "--every", "500ms")
        options = ("--broker", address, "--timeout", "60s")
        inside = () if link is None else link.inside
        self.process: Final = Process(name, [*command, *options], directory, inside=inside)

    def said(self) -> list[dict[str, Any]]:
        """All objects so far."""
        lines = self.process.said().splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]

    def last(self, key: str) -> list[Mapping[str, Any]]:
        """Of all streams, what the last object has under a key."""
        said = self.said()
        return [each for stream in said[-1]["streams"] for each in stream[key]] if said else []


@pytest.mark.soak
def test_a_host_behind_a_narrow_link_recovers_and_publishers_go_on(
    tmp_path: Path, link: NarrowLink
) -> None:
    """Stopped for 30 s, at 250 KB/s of which publishers want two thirds.

    Its programs give it up meanwhile and come back; what was missed still crosses the link once.
    """
    with network(tmp_path) as net:
        net.broker("top", host=link.here, streams=STREAMS)
        net.broker("edge", "top", host=link.there, inside=link.inside)
        for stream in STREAMS:
            net.reader(f"reader-{stream}", "edge", stream=stream, inside=link.inside)
            net.publisher("top", per_s=PER_S, stream=stream, payload_bytes=PAYLOAD_BYTES)
        net.wait_busy()
        # What publishers want, and how far a host lags, are known after a while.
        begun_ns = time.monotonic_ns()
        time.sleep(10.0)
        stopped_ns = time.monotonic_ns()
        demand = sum(each.per_s(begun_ns, stopped_ns) for each in published(net).values())
        assert has_caught_up(net, stopped_ns), "the link carries what is published"
        net.brokers["edge"].suspend()
        time.sleep(STOPPED_S)
        net.brokers["edge"].resume()
        resumed_ns = time.monotonic_ns()
        top = Watched("top-status", net.brokers["top"].address, None, tmp_path)
        edge = Watched("edge-status", net.brokers["edge"].address, link, tmp_path)
        for watched in (top, edge):
            watched.process.start()
        try:
            wait_until(
                "a reader recovers",
                lambda: any(each["is_recovering"] for each in edge.last("readings")),
            )
            wait_until(
                "the host has recovered",
                lambda: (
                    not any(each["is_recovering"] for each in edge.last("readings"))
                    and has_caught_up(net, time.monotonic_ns())
                ),
                timeout_s=TIMEOUT_S,
            )
            recovered_ns = time.monotonic_ns()
            wait_until(
                "publishers are no longer slowed down",
                lambda: all(
                    each["rate_limit_per_second"] is None for each in top.last("throttles")
                ),
            )
            full_ns = time.monotonic_ns()
        finally:
            for watched in (top, edge):
                watched.process.kill()
        said = published(net)
        slowest = min(
            each.per_s(begin_ns, end_ns)
            for each in said.values()
            for begin_ns, end_ns in windows(resumed_ns, recovered_ns)
        )
        during = sum(each.per_s(resumed_ns, recovered_ns) for each in said.values())
        while_stopped = sum(each.per_s(stopped_ns, resumed_ns) for each in said.values())
        throttles = top.last("throttles")
        print(
            f"demand {demand:.0f}/s, while stopped {while_stopped:.0f}/s;"
            f" recovered after {(recovered_ns - resumed_ns) / 1e9:.1f} s,"
            f" meanwhile {during:.0f}/s, the slowest publisher over 5 s {slowest:.0f}/s;"
            f" full rate {(full_ns - recovered_ns) / 1e9:.1f} s later;"
            f" throttled {[each['throttled_seconds'] for each in throttles]} s"
        )
        # The host was behind, so it must have been named.
        assert {each["limited_by"] for each in throttles} == {"edge"}
        assert during >= FLOOR * demand
        # A whole batch of a publisher may lie on either side of a window.
        assert slowest >= 0.8 * FLOOR * demand / len(STREAMS)
        assert net.finish() > 0


def windows(begin_ns: int, end_ns: int) -> list[tuple[int, int]]:
    """Stretches of 5 s; what is left over is too short to measure anything."""
    return list(pairwise(range(begin_ns, end_ns + 1, 5 * 10**9)))
