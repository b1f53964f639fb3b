"""What is set in the experiments of paper 004: one object on a scale-free network that loses.

As in figure 6, unless something else is said: 20 000 packets of 1 KB at 1 000 packets/s, 5 ms a
link and no link rate; publisher and subscribers are hosts at drawn routers, whose links count and
lose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from penstock.bloomcast.machines import with_bfs_relays
from penstock.bloomcast.settings import CastSettings, Variant
from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.wire.frames.cast.transfer import RepairChoice

PACKET_BYTES: Final = 1_024
LINK_DELAY_NS: Final[Duration] = 5 * MILLISECOND


class PaperProtocol(StrEnum):
    """Which protocol."""

    DEFAULT = "default"
    # As the default, but with the relays of the paper.
    BFS = "bfs"
    # What is sent is written while it is sent.
    STREAM = "stream"
    LITERAL = "literal"


@dataclass(frozen=True, slots=True, kw_only=True)
class LateSubscribers:
    """Some join during the first distribution."""

    count: int
    # After so much of it.
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayFailure:
    """The relay with the most subscribers below it dies; without relays, such a router does."""

    # So long after the first packet of data left, and so long after that another is there.
    after_ns: Duration
    replaced_after_ns: Duration


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperScene:
    """One run."""

    seed: int
    routers: int = 200
    subscribers: int = 50
    protocol: PaperProtocol = PaperProtocol.DEFAULT
    # Another seed for graph and subscribers: runs of several seeds then differ in the position of
    # the publisher alone, as published, and in what is lost.
    graph_seed: int | None = None
    packets: int = 20_000
    packets_per_s: int = 1_000
    # The share of packets that are lost somewhere in the tree, or of those that are lost on the way
    # to one subscriber at the mean distance; the other is 0.
    reported_loss: float = 0.03
    path_loss: float = 0.0
    # So many in a row, on average.
    burst_packets: float = 1.0
    late: LateSubscribers | None = None
    failure: RelayFailure | None = None
    # Of a train, which leaves at once; the gap to the next keeps the rate. Three trains of 34 take
    # what a relay point holds NAKs for, 0.1 s: about as many packets as when each leaves alone.
    train_symbols: int = 34
    # Of a block of `stream`.
    stream_block_packets: int = 4_000
    # How long relay points of `literal` hold NAKs.
    hold_ns: Duration = 100 * MILLISECOND

    @property
    def sending_ns(self) -> Duration:
        """How long the first distribution takes."""
        return self.packets * SECOND // self.packets_per_s

    def link_loss(self, *, tree_links: int, mean_hops: float) -> float:
        """What every link loses, so that this share is lost in all."""
        if self.path_loss:
            return float(1 - (1 - self.path_loss) ** (1 / mean_hops))
        return float(1 - (1 - self.reported_loss) ** (1 / tree_links))

    def settings(self, hops: int) -> CastSettings:
        """What all nodes are set to; the farthest subscriber is so many hops away."""
        settings = CastSettings()
        settings = replace(settings, rate=replace(settings.rate, is_controlled=False))
        if self.protocol in (PaperProtocol.BFS, PaperProtocol.LITERAL):
            settings = with_bfs_relays(settings)
        if self.protocol is PaperProtocol.LITERAL:
            literal = replace(
                settings.literal, hops=hops, link_delay_ns=LINK_DELAY_NS, hold_ns=self.hold_ns
            )
            settings = replace(settings, variant=Variant.LITERAL, literal=literal)
        publisher = replace(
            settings.publisher,
            rate_bps=self.packets_per_s * PACKET_BYTES,
            train_symbols=self.train_symbols,
            repair=RepairChoice.CODED,
        )
        # Blocks are cut by their length alone.
        flush_ns = 2 * self.sending_ns + SECOND
        stream = replace(
            settings.stream, block_symbols=self.stream_block_packets, flush_ns=flush_ns
        )
        return replace(settings, publisher=publisher, stream=stream)
