"""What receivers tell publishers: frames of feedback, and acknowledgements.

A frame is what one receiver tells one publisher at one instant. The trace has a row for each flow
that the frame names; the frame counts once. Acknowledgements are signals and counted apart.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Entity, Output, Window
from penstock.metrics.codes import grown
from penstock.metrics.congestion.batches import joined
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch, Flags, Ints

# The kind of signal that acknowledges.
_ACK: Final = "ack"
# Where each kind of message is recorded.
_TABLE_OF: Final = {"feedback": "feedback", "ack": "signals"}


class Feedback(AdditiveMetric[Batch]):
    """How often publishers are told anything, in all and second by second."""

    READS: ClassVar = {
        "publications": ("publisher",),
        "feedback": ("subscriber", "publisher", "sent_ns"),
        "signals": ("publisher", "kind", "sent_ns"),
    }
    OUTPUTS: ClassVar = (
        Output(
            name="feedback_frames",
            unit="frames",
            window=Window.RUN,
            meaning="frames of feedback that receivers sent to publishers",
        ),
        Output(
            name="feedback_rate",
            unit="/s",
            window=Window.RUN,
            meaning="frames of feedback per second of the experiment and publisher",
        ),
        Output(
            name="ack_rate",
            unit="/s",
            window=Window.RUN,
            meaning="acknowledgements per second of the experiment and publisher",
        ),
        Output(
            name="feedback",
            unit="frames",
            entity=Entity.PUBLISHER,
            kinds=("series",),
            meaning="frames of feedback sent to this publisher in each second",
        ),
        Output(
            name="ack",
            unit="acknowledgements",
            entity=Entity.PUBLISHER,
            kinds=("series",),
            meaning="acknowledgements sent to this publisher in each second",
        ),
    )
    # Pair and time of each frame: files need not have the rows of a frame side by side.
    KEEPS_BYTES_PER_ROW: ClassVar[int] = 16

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # By code.
        self._publishes: Flags = np.zeros(0, np.bool_)
        # Pair and time of each frame; some stand there twice.
        self._pairs: list[Ints] = []
        self._sent: list[Ints] = []
        self._acks: Final = _SecondsByPublisher(run)

    def update(self, batch: Batch) -> None:
        """Notes who publishes, keeps frames, counts acknowledgements."""
        publisher = batch.codes("publisher")
        if batch.table.name == "publications":
            self._publishes = grown(self._publishes, int(publisher.max()) + 1, fill=False)
            self._publishes[publisher] = True
        elif batch.table.name == "feedback":
            pair, sent_ns = self.run.codes.pair_of(batch), batch.integers("sent_ns")
            # Most rows of a frame are neighbours.
            is_first = _differs_from_last(pair) | _differs_from_last(sent_ns)
            self._pairs.append(pair[is_first])
            self._sent.append(sent_ns[is_first])
        else:
            acks = batch.is_one_of("kind", {_ACK})
            self._acks.add(publisher[acks], batch.integers("sent_ns")[acks])

    def tally(self, out: Tally) -> None:
        """By publisher; each of them publishes in one part or in all."""
        names = self.run.codes.names("publisher")
        for code in np.flatnonzero(self._publishes).tolist():
            out.add("publishes", 1, entity=names[code], op="max")
        frames = _SecondsByPublisher(self.run)
        frames.add(*self._frames())
        for name, counts in (("feedback", frames), ("ack", self._acks)):
            for code, by_second in counts.items():
                out.add(name, by_second, entity=names[code])

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """What was recorded: totals, mean rates, and the seconds of each publisher."""
        publishers = max(1, len(tally.names_of_entities("publishes")))
        for name, table in _TABLE_OF.items():
            if not run.has(table):
                continue
            total = 0
            for publisher in tally.names_of_entities(name):
                by_second = tally.get(name, entity=publisher)
                out.add_series(name, by_second[:-1], entity=publisher)
                total += int(by_second.sum())
            if name == "feedback":
                out.add_value("feedback_frames", total)
            if run.has("publications") and run.duration:
                out.add_value(f"{name}_rate", total / run.duration_s / publishers)

    def _frames(self) -> tuple[Ints, Ints]:
        """Publisher and time of each frame, once."""
        pair, sent_ns = joined(self._pairs), joined(self._sent)
        order = np.lexsort((sent_ns, pair))
        pair, sent_ns = pair[order], sent_ns[order]
        is_first = _differs_from_last(pair) | _differs_from_last(sent_ns)
        _, publisher_of = self.run.codes.pairs.parts()
        return publisher_of[pair[is_first]], sent_ns[is_first]


class _SecondsByPublisher:
    """Counts by publisher and second; the last place counts what lies outside the experiment."""

    def __init__(self, run: RunInfo) -> None:
        self._run: Final = run
        self._counts: Ints = np.zeros((0, run.seconds + 1), np.int64)

    def add(self, publisher: Ints, instants: Ints) -> None:
        """Counts the next rows."""
        if not publisher.size:
            return
        second, outside = self._run.second_of(instants), self._run.seconds
        second[(second < 0) | (second > outside)] = outside
        self._counts = grown(self._counts, int(publisher.max()) + 1, 0)
        np.add.at(self._counts.reshape(-1), publisher * (outside + 1) + second, 1)

    def items(self) -> list[tuple[int, Ints]]:
        """The counts of each publisher that has any, by code."""
        return [(int(code), self._counts[code]) for code in np.flatnonzero(self._counts.any(1))]


def _differs_from_last(values: Ints) -> Flags:
    """Which rows differ from the row before; the first does."""
    differs = np.ones(values.size, np.bool_)
    differs[1:] = values[1:] != values[:-1]
    return differs
