"""The workload itself: receivers of each message, and how often each pair matches.

Counts what left its publisher and whom it was for, whether it came or not.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import Metric, Output, Window
from penstock.metrics.codes import SEQ_BITS, PairCodes, grown
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, Floats, Ints

_FEW: Final = 2


class Workload(Metric[Batch]):
    """Receivers of messages, and probabilities that a subscriber wants a publisher's message."""

    READS: ClassVar = {
        "publications": ("publisher", "published_ns"),
        "expected": ("publisher", "epoch", "seq", "subscriber"),
    }
    # The key of the message of each expected row: its receivers are told apart at the end.
    KEEPS_BYTES_PER_ROW: ClassVar = 8
    OUTPUTS: ClassVar = (
        Output(
            name="messages_with_2_or_fewer",
            unit="1",
            window=Window.RUN,
            meaning="share of messages sent that at most two subscribers were to get",
        ),
        Output(
            name="receivers_mean",
            unit="1",
            window=Window.RUN,
            meaning="subscribers that were to get a message, on average",
        ),
        Output(
            name="receivers_max",
            unit="1",
            window=Window.RUN,
            meaning="subscribers that were to get a message, at most",
        ),
        Output(
            name="pair_match_p80",
            unit="1",
            window=Window.RUN,
            meaning="share of a publisher's messages that a subscriber was to get: 80th percentile"
            " of all pairs",
        ),
        Output(
            name="pair_match_max",
            unit="1",
            window=Window.RUN,
            meaning="share of a publisher's messages that a subscriber was to get: maximum of all"
            " pairs",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # By publisher; one whose messages never left has an entry of 0.
        self._sent: dict[str, int] = {}
        self._sources = PairCodes()
        self._messages: list[Ints] = []
        # Expected rows of each pair.
        self._matches: Ints = np.zeros(0, np.int64)

    def update(self, batch: Batch) -> None:
        """Counts what left, and keeps the messages that anybody was to get."""
        if batch.table.name == "publications":
            self._count_sent(batch)
            return
        codes = self.run.codes
        epoch = codes.epochs.of(batch.integers("epoch"))
        source = self._sources.of(batch.codes("publisher"), epoch)
        self._messages.append(source << SEQ_BITS | batch.integers("seq"))
        matches = np.bincount(codes.pair_of(batch))
        self._matches = grown(self._matches, matches.size, 0)
        self._matches[: matches.size] += matches

    def finish(self, out: Results) -> None:
        """Reports if anything was sent, and it is known for whom."""
        sent = sum(self._sent.values())
        if not sent or not self.run.has("expected"):
            return
        messages = np.concatenate([np.zeros(0, np.int64), *self._messages])
        _, receivers = np.unique(messages, return_counts=True)
        few = sent - np.count_nonzero(receivers > _FEW)
        out.add_value("messages_with_2_or_fewer", few / sent)
        out.add_value("receivers_mean", receivers.sum() / sent)
        out.add_value("receivers_max", receivers.max(initial=0))
        shares = self._match_shares()
        out.add_value("pair_match_p80", float(np.quantile(shares, 0.8)))
        out.add_value("pair_match_max", shares.max())

    def _count_sent(self, batch: Batch) -> None:
        publisher, names = batch.codes("publisher"), batch.names("publisher")
        sent = np.bincount(publisher[batch.present("published_ns")], minlength=len(names))
        for code in np.flatnonzero(np.bincount(publisher)).tolist():
            name = names[code]
            self._sent[name] = self._sent.get(name, 0) + int(sent[code])

    def _match_shares(self) -> Floats:
        """Of every publisher and subscriber, including those that never match."""
        pairs = np.flatnonzero(self._matches)
        subscribers, publishers = self.run.codes.pair_names(pairs)
        sent = np.array([self._sent.get(name, 0) for name in publishers], np.float64)
        known = sent > 0
        matching = self._matches[pairs][known] / sent[known]
        # The run knows of subscribers that no message was for.
        everyone = len(self._sent) * max(1, len({*subscribers}), self.run.subscribers)
        shares = np.zeros(max(everyone, matching.size))
        shares[: matching.size] = matching
        return shares
