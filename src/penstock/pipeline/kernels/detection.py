"""How well each ordering tells losses from gaps: against what really never came.

A message is missed when it is expected at a subscriber and never arrives there. A
loss that is declared is right when its message is missed.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import MILLISECOND
from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.ledger import Keys
from penstock.pipeline.kernels.rows import SEQ_BITS, Ints, Rows
from penstock.trace.fates import ReceiverFate

_LOSS_COLUMNS: Final = (
    "ordering", "subscriber", "publisher", "epoch", "seq", "detected_ns", "lost_ns", "resolution",
)  # fmt: skip


class Detection(Kernel):
    """Precision and recall of declared losses."""

    READS: ClassVar = {"losses": _LOSS_COLUMNS}
    USES_LEDGER: ClassVar[bool] = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._losses: dict[int, _Losses] = {}

    def take(self, rows: Rows) -> None:
        """Keeps the losses that were declared."""
        declared = rows.present("lost_ns")
        ordering, flow = rows.codes("ordering"), self.subject.books.flow_of(rows)
        lost_ns = rows.integers("lost_ns")
        after_ns = lost_ns - rows.integers("detected_ns")
        came = ~rows.is_one_of("resolution", {ReceiverFate.GIVEN_UP})
        for code in np.flatnonzero(np.bincount(ordering)).tolist():
            its = declared & (ordering == code)
            losses = self._losses.setdefault(code, _Losses())
            losses.keys.add(flow[its], rows.seq[its])
            losses.lost_ns.append(lost_ns[its])
            losses.after_ns += int(after_ns[its].sum())
            losses.retracted += int(came[its].sum())

    def tell(self, findings: Findings) -> None:
        """How many there were to be found, and what each ordering found of them."""
        if not {"expected", "arrivals"} <= self.subject.recorded:
            return
        ledger = self.subject.ledger
        is_missed = ledger.missed(self.subject.books.network)
        findings.figure("missed", int(is_missed.sum()), "deliveries")
        flow, seq = ledger.expected.columns()
        missed = _Missed(_packed(flow, seq)[is_missed], ledger.published_ns()[is_missed])
        if "losses" in self.subject.recorded:
            # An ordering that delivers and never declares anything has figures, too.
            for code, name in self.subject.orderings(also=self._losses):
                if code != self.subject.books.network:
                    self._losses.get(code, _Losses()).tell(missed, name, findings)


class _Missed:
    """What never came, each once, in rising order, and when it was first published."""

    def __init__(self, messages: Ints, published_ns: Ints) -> None:
        order = np.lexsort((published_ns, messages))
        self.messages, first = np.unique(messages[order], return_index=True)
        self.published_ns = published_ns[order][first]

    def since_ns(self, messages: Ints, instants: Ints) -> Ints:
        """How long after their publication."""
        where = np.searchsorted(self.messages, messages)
        return np.asarray(instants - self.published_ns[where])


class _Losses:
    """What one ordering declared lost."""

    def __init__(self) -> None:
        self.keys: Final = Keys()
        self.lost_ns: Final[list[Ints]] = []
        self.after_ns = 0
        self.retracted = 0

    def tell(self, missed: _Missed, ordering: str, findings: Findings) -> None:
        flow, seq = self.keys.columns()
        declared = _packed(flow, seq)
        right = np.isin(declared, missed.messages)
        figures: dict[str, tuple[float, str]] = {
            "losses_declared": (declared.size, "messages"),
            "losses_right": (int(right.sum()), "messages"),
            "losses_retracted": (self.retracted, "messages"),
        }
        if declared.size:
            figures["loss_precision"] = (float(right.mean()), "")
            figures["loss_declared_after"] = (self.after_ns / declared.size / MILLISECOND, "ms")
        if missed.messages.size:
            found = np.unique(declared[right]).size
            figures["loss_recall"] = (found / missed.messages.size, "")
        if right.any():
            since_ns = missed.since_ns(declared[right], np.concatenate(self.lost_ns)[right])
            figures["loss_declared_since"] = (float(since_ns.mean()) / MILLISECOND, "ms")
        for name, (value, unit) in figures.items():
            findings.figure(name, value, unit, ordering=ordering)


def _packed(flow: np.typing.NDArray[np.uint32], seq: np.typing.NDArray[np.uint32]) -> Ints:
    return flow.astype(np.int64) << SEQ_BITS | seq
