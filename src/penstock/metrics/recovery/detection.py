"""Detection of losses: the losses that each ordering declared, against what really never came.

A message is missed when it is expected at a subscriber and never arrives there. A declared loss
is right when its message is missed there, and retracted when the message came after all or
turned out to be irrelevant.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import MILLISECOND
from penstock.metrics.base import AdditiveMetric, Output, Window
from penstock.metrics.codes import NETWORK, SEQ_BITS
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.metrics.views.ledger import Ledger, MessageKeys
from penstock.trace.batch import Batch, Ints
from penstock.trace.fates import ReceiverFate


class Detection(AdditiveMetric[Batch | Ledger]):
    """Precision, recall and delay of declared losses."""

    READS: ClassVar = {
        "losses": (
            *("ordering", "subscriber", "publisher", "epoch", "seq"),
            *("detected_ns", "lost_ns", "resolution"),
        ),
        "ledger": (),
    }
    OUTPUTS: ClassVar = (
        Output(
            name="missed",
            unit="deliveries",
            window=Window.RUN,
            meaning="expected at a subscriber and never arrived there",
        ),
        Output(
            name="losses_declared",
            unit="messages",
            window=Window.RUN,
            meaning="losses that subscribers declared",
        ),
        Output(
            name="losses_right",
            unit="messages",
            window=Window.RUN,
            meaning="declared losses of messages that were expected and never arrived",
        ),
        Output(
            name="losses_retracted",
            unit="messages",
            window=Window.RUN,
            meaning="declared losses that did not end in giving the message up",
        ),
        Output(
            name="loss_precision",
            unit="1",
            window=Window.RUN,
            meaning="share of declared losses that are right",
        ),
        Output(
            name="loss_recall",
            unit="1",
            window=Window.RUN,
            meaning="share of missed messages that were declared lost",
        ),
        Output(
            name="loss_declared_after",
            unit="ms",
            window=Window.RUN,
            meaning="mean time from noticing that a message is missing to declaring it lost",
        ),
        Output(
            name="loss_declared_since",
            unit="ms",
            window=Window.RUN,
            meaning="mean time from publication to declaring the loss, of losses that are right",
        ),
    )
    # A key and an instant of each declared loss.
    KEEPS_BYTES_PER_ROW: ClassVar[int] = 16

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._losses: Final[dict[str, _DeclaredLosses]] = {}
        self._ledger: Ledger | None = None

    def update(self, batch: Batch | Ledger) -> None:
        """Keeps declared losses until the ledger says what never came."""
        if isinstance(batch, Ledger):
            self._ledger = batch
            return
        is_declared = batch.present("lost_ns")
        ordering, flow = batch.codes("ordering"), self.run.codes.flow_of(batch)
        seq, lost_ns = batch.integers("seq"), batch.integers("lost_ns")
        after_ns = lost_ns - batch.integers("detected_ns")
        is_retracted = ~batch.is_one_of("resolution", {ReceiverFate.GIVEN_UP})
        names = self.run.codes.names("ordering")
        for code in np.flatnonzero(np.bincount(ordering)).tolist():
            its = is_declared & (ordering == code)
            losses = self._losses.setdefault(names[code], _DeclaredLosses())
            losses.messages.add(flow[its], seq[its])
            losses.lost_ns.append(lost_ns[its])
            losses.after_ns += int(after_ns[its].sum())
            losses.retracted += int(np.count_nonzero(is_retracted[its]))

    def tally(self, out: Tally) -> None:
        """Also of an ordering that is declared or delivers, and never declared a loss."""
        ledger = self._ledger
        assert ledger is not None, "the ledger comes after the last batch"
        missed = _Missed(ledger)
        out.add("missed", [missed.rows, missed.messages.size])
        for ordering in sorted({*self.run.orderings, *ledger.orderings, *self._losses}):
            losses = self._losses.get(ordering, _DeclaredLosses())
            out.add("losses", losses.compared_with(missed), ordering=ordering)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """How many there were to be found, and what each ordering found of them."""
        if not run.has("expected", "arrivals"):
            return
        missed_rows, missed_messages = tally.get("missed").tolist()
        out.add_value("missed", missed_rows)
        if not run.has("losses"):
            return
        for ordering in tally.orderings("losses"):
            counts = tally.get("losses", ordering=ordering).tolist()
            declared, right, retracted, found, after_ns, since_ns = counts
            out.add_value("losses_declared", declared, ordering=ordering)
            out.add_value("losses_right", right, ordering=ordering)
            out.add_value("losses_retracted", retracted, ordering=ordering)
            if declared:
                after_ms = after_ns / declared / MILLISECOND
                out.add_value("loss_precision", right / declared, ordering=ordering)
                out.add_value("loss_declared_after", after_ms, ordering=ordering)
            if missed_messages:
                out.add_value("loss_recall", found / missed_messages, ordering=ordering)
            if right:
                since_ms = since_ns / right / MILLISECOND
                out.add_value("loss_declared_since", since_ms, ordering=ordering)


class _Missed:
    """Messages that never came, each once, in rising order, and when each was published."""

    def __init__(self, ledger: Ledger) -> None:
        is_missed = ledger.missed(NETWORK)
        messages = _in_one_number(ledger.expected)[is_missed]
        published_ns = ledger.published_ns()[is_missed]
        order = np.lexsort((published_ns, messages))
        messages = messages[order]
        is_first = np.ones(messages.size, np.bool_)
        is_first[1:] = messages[1:] != messages[:-1]
        # How many rows of `expected` they are: a row that stands twice counts twice.
        self.rows: Final = messages.size
        self.messages: Final = messages[is_first]
        self.published_ns: Final = published_ns[order][is_first]


class _DeclaredLosses:
    """What one ordering declared lost."""

    def __init__(self) -> None:
        self.messages: Final = MessageKeys()
        self.lost_ns: Final[list[Ints]] = []
        self.after_ns = 0
        self.retracted = 0

    def compared_with(self, missed: _Missed) -> list[int]:
        """Declared, right and retracted; missed messages that were found; two sums of times."""
        messages = _in_one_number(self.messages)
        place = np.searchsorted(missed.messages, messages)
        is_right = np.zeros(messages.size, np.bool_)
        is_inside = place < missed.messages.size
        is_right[is_inside] = missed.messages[place[is_inside]] == messages[is_inside]
        place = place[is_right]
        lost_ns = np.concatenate([np.zeros(0, np.int64), *self.lost_ns])[is_right]
        since_ns = int((lost_ns - missed.published_ns[place]).sum())
        found = np.unique(place).size
        return [messages.size, place.size, self.retracted, found, self.after_ns, since_ns]


def _in_one_number(messages: MessageKeys) -> Ints:
    flow, seq = messages.columns()
    return flow.astype(np.int64) << SEQ_BITS | seq
