"""What recording a trace costs, on the chain of brokers.

For each message its publication is recorded and every client that should get
it, which takes one more look at all filters; for each delivery its arrival and
itself. Opening and closing the files is part of the cost.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bench.sim.brokers import BrokerChain
from bench.sim.chain import SIZE_BYTES
from penstock import __version__
from penstock.content.index import MatchingIndex
from penstock.kernel.instant import Duration, Instant
from penstock.trace.fates import PublisherFate, ReceiverFate
from penstock.trace.records import Arrival, Delivery, Expected, Publication, Row, Run
from penstock.tracefile.retention import Recording
from penstock.wire.frames.data import Data

# Named once: looking a member of an enum up is slow.
_SENT: Final = PublisherFate.SENT
_DELIVERED: Final = ReceiverFate.DELIVERED


class TracedChain:
    """A chain of brokers of which each run is recorded anew, into `keep` or nowhere."""

    def __init__(self, keep: Path | None, **sizes: int) -> None:
        self._keep: Final = keep
        self.trace_hash = ""
        self._published_ns: Final[dict[tuple[int, int], Instant]] = {}
        self._add: Callable[[Row], None] = _discard
        self.chain: Final = BrokerChain(
            on_publish=self._on_published, on_deliver=self._on_delivered, **sizes
        )
        self._brokers: Final = {
            name: 1 + self.chain.brokers.index(broker)
            for name, (broker, _) in self.chain.interests.items()
        }
        self._interests: Final[MatchingIndex[tuple[str, int]]] = MatchingIndex()
        for name, (_, predicates) in self.chain.interests.items():
            for number, predicate in enumerate(predicates):
                self._interests.add((name, number), predicate)

    def run(self, span_ns: Duration) -> tuple[int, int]:
        """Like `BrokerChain.run`, with all that a trace needs."""
        with Recording("bench", keep=self._keep, replace=True) as recording:
            self._add = recording.add
            found = self.chain.run(span_ns)
            self._add = _discard
            self.trace_hash = recording.finish(_run(span_ns)).trace_hash
        return found

    def _on_published(self, flow: str, data: Data, now: Instant) -> None:
        add, epoch, seq = self._add, data.epoch, data.seq
        self._published_ns[data.pub, seq] = now
        add(Publication(flow, epoch, seq, now, now, SIZE_BYTES, _SENT, "data"))
        for client in sorted({client for client, _ in self._interests.match(data.message)}):
            add(Expected(flow, epoch, seq, client, now))

    def _on_delivered(self, client: str, data: Data, now: Instant) -> None:
        add, epoch, seq = self._add, data.epoch, data.seq
        flow, published_ns = f"flow {data.pub}", self._published_ns[data.pub, seq]
        brokers = self._brokers[client]
        add(Arrival(client, flow, epoch, seq, published_ns, now, brokers, False))
        add(Delivery("off", client, flow, epoch, seq, published_ns, now, now, None, _DELIVERED))


def _discard(_row: Any) -> None:
    """Between runs nothing is recorded."""


def _run(span_ns: Duration) -> Run:
    return Run(
        experiment="bench",
        profile="quick",
        variant="brokers",
        seed=1,
        parameters="{}",
        duration_ns=span_ns,
        code_version=__version__,
    )
