"""What groups of receivers get for themselves, and what they share with other groups.

A message is a group's *own* if no subscriber outside the group wants it. Where a publisher
slows down for a group behind a narrow link, only messages that others share with that group
should become fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.metrics.base import Entity, Metric, Output, share
from penstock.metrics.codes import SEQ_BITS, PairCodes
from penstock.metrics.congestion.batches import joined
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, Flags, Ints

Narrow: TypeAlias = NDArray[np.int32]

_NOBODY: Final = -1
_KEY: Final = ("subscriber", "publisher", "epoch", "seq")


class GroupRates(Metric[Batch]):
    """Messages a second that each group gets: its own, and those that others want too."""

    READS: ClassVar = {"expected": _KEY, "arrivals": (*_KEY, "arrived_ns")}
    OUTPUTS: ClassVar = (
        Output(
            name="own_rate",
            unit="/s",
            entity=Entity.GROUP,
            kinds=("value", "series"),
            phased=True,
            meaning="messages per second that came to the group and that no other group wants",
        ),
        Output(
            name="shared_rate",
            unit="/s",
            entity=Entity.GROUP,
            kinds=("value", "series"),
            phased=True,
            meaning="messages per second that came to the group and that others want too",
        ),
    )
    # Message, group and second.
    KEEPS_BYTES_PER_ROW: ClassVar[int] = 16

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._groups: Final = list(run.groups)
        self._group_of_name: Final = {
            name: number for number, group in enumerate(self._groups) for name in run.groups[group]
        }
        self._group_of_code: Narrow = np.zeros(0, np.int32)
        # Publisher and epoch.
        self._sequences: Final = PairCodes()
        # Messages that are wanted and by which group; messages that came, to which group and when.
        self._wanted: list[Ints] = []
        self._wanted_by: list[Narrow] = []
        self._came: list[Ints] = []
        self._came_to: list[Narrow] = []
        self._came_s: list[Narrow] = []

    def update(self, batch: Batch) -> None:
        """Keeps which groups want each message, and which get it when."""
        if not self._groups:
            return
        epoch = self.run.codes.epochs.of(batch.integers("epoch"))
        sequence = self._sequences.of(batch.codes("publisher"), epoch)
        message = sequence << SEQ_BITS | batch.integers("seq")
        group = self._groups_by_code(batch.names("subscriber"))[batch.codes("subscriber")]
        if batch.table.name == "expected":
            self._wanted.append(message)
            self._wanted_by.append(group)
            return
        second = self.run.second_of(batch.integers("arrived_ns"))
        counts = (group != _NOBODY) & (second >= 0) & (second < self.run.seconds)
        self._came.append(message[counts])
        self._came_to.append(group[counts])
        self._came_s.append(second[counts].astype(np.int32))

    def finish(self, out: Results) -> None:
        """Of each group that wants anything: seconds, the experiment and each phase."""
        if not self.run.has("expected", "arrivals"):
            return
        for name, group, by_second in self._counts():
            out.add_series(name, by_second, entity=group)
            for phase, low_s, high_s in self.run.spans():
                count = by_second[self.run.seconds_of(low_s, high_s)].sum()
                out.add_value(name, share(count, high_s - low_s), entity=group, phase=phase)

    def _counts(self) -> Iterator[tuple[str, str, Ints]]:
        """Messages that came to each group in each second."""
        wanted_by, came_to = joined(self._wanted_by), joined(self._came_to)
        second = joined(self._came_s)
        is_shared = _is_shared(joined(self._wanted), wanted_by, joined(self._came), came_to)
        for number in np.unique(wanted_by[wanted_by != _NOBODY]).tolist():
            is_ours = came_to == number
            for name, rows in (("own_rate", ~is_shared), ("shared_rate", is_shared)):
                by_second = np.bincount(second[is_ours & rows], minlength=self.run.seconds)
                yield name, self._groups[number], by_second

    def _groups_by_code(self, names: list[str]) -> Narrow:
        """The group of each subscriber; later batches bring more names."""
        new = names[len(self._group_of_code) :]
        if new:
            found = np.array([self._group_of_name.get(name, _NOBODY) for name in new], np.int32)
            self._group_of_code = np.append(self._group_of_code, found)
        return self._group_of_code


def _is_shared(wanted: Ints, wanted_by: Narrow, came: Ints, came_to: Narrow) -> Flags:
    """Of messages that came to groups, which others want too."""
    if not wanted.size:
        return np.zeros(came.size, np.bool_)
    messages, where = np.unique(wanted, return_inverse=True)
    # One of the groups that want each message, and whether there are several.
    one = np.empty(messages.size, np.int32)
    one[where] = wanted_by
    several = np.zeros(messages.size, np.bool_)
    several[where[one[where] != wanted_by]] = True
    place = np.minimum(np.searchsorted(messages, came), messages.size - 1)
    is_wanted = messages[place] == came
    return np.asarray(is_wanted & (several[place] | (one[place] != came_to)))
