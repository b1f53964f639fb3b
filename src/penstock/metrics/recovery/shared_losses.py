"""Losses that several receivers share: how often one of them at least notices.

Considers messages that the first of the group `receivers` wanted and that were lost on the link
from their publisher, so that no receiver got them. For k = 0, 1, … others: whether the first
receiver or one of the next k knows that the message is missing.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import Entity, Metric, Output, Window
from penstock.metrics.recovery.message_ids import MessageIds
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, Ints

_GROUP: Final = "receivers"


class SharedLosses(Metric[Batch]):
    """Detection by the first receiver and k others."""

    READS: ClassVar = {
        "expected": ("publisher", "epoch", "seq", "subscriber"),
        "drops": ("where", "publisher", "epoch", "seq"),
        "losses": ("ordering", "subscriber", "publisher", "epoch", "seq"),
    }
    OUTPUTS: ClassVar = (
        Output(
            name="shared_losses",
            unit="messages",
            window=Window.RUN,
            meaning="lost on the publisher's own link, of those that the first receiver wanted",
        ),
        Output(
            name="detected",
            unit="1",
            entity=Entity.SETTING,
            window=Window.RUN,
            meaning="share of shared losses that the first receiver or one of k others noticed",
        ),
    )
    # The message of each row.
    KEEPS_BYTES_PER_ROW: ClassVar[int] = 8

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._receivers: Final = list(run.groups.get(_GROUP, ()))
        # Links are named after the hosts that they connect, the sender first.
        self._source_links: Final = tuple(
            f"{host}-" for group, hosts in run.groups.items() if group != _GROUP for host in hosts
        )
        self._ids: Final = MessageIds(run.codes)
        self._wanted: Final[list[Ints]] = []
        self._lost: Final[list[Ints]] = []
        # By ordering and receiver: what it knows to be missing.
        self._noticed: Final[dict[tuple[str, str], list[Ints]]] = {}

    def update(self, batch: Batch) -> None:
        """Keeps messages that the first receiver wanted, that were lost, and that are missing."""
        if not self._receivers:
            return
        if batch.table.name == "expected":
            is_first = batch.is_one_of("subscriber", self._receivers[:1])
            self._wanted.append(self._ids.of(batch, where=is_first))
        elif batch.table.name == "drops":
            names = batch.names("where")
            links = {name for name in names if name.startswith(self._source_links)}
            # Not every packet carries a message.
            has_message = batch.present("seq") & batch.present("publisher")
            is_lost = has_message & batch.is_one_of("where", links)
            self._lost.append(self._ids.of(batch, where=is_lost))
        else:
            self._keep_noticed(batch)

    def finish(self, out: Results) -> None:
        """Nothing of a run that has no such group, or did not record all three tables."""
        if not self._receivers or not self.run.has(*self.READS):
            return
        lost = np.intersect1d(_distinct(self._lost), _distinct(self._wanted), assume_unique=True)
        out.add_value("shared_losses", lost.size)
        if not lost.size:
            return
        for ordering in sorted({*self.run.orderings, *(name for name, _ in self._noticed)}):
            is_noticed = np.zeros(lost.size, np.bool_)
            for others, receiver in enumerate(self._receivers):
                is_noticed |= np.isin(lost, _distinct(self._noticed.get((ordering, receiver), [])))
                detected = float(is_noticed.mean())
                out.add_value("detected", detected, ordering=ordering, entity=str(others))

    def _keep_noticed(self, batch: Batch) -> None:
        message = self._ids.of(batch)
        ordering, subscriber = batch.codes("ordering"), batch.codes("subscriber")
        orderings, subscribers = batch.names("ordering"), batch.names("subscriber")
        order = np.lexsort((subscriber, ordering))
        one, other = ordering[order], subscriber[order]
        cuts = np.flatnonzero((one[1:] != one[:-1]) | (other[1:] != other[:-1])) + 1
        for rows in np.split(order, cuts):
            whose = (orderings[ordering[rows[0]]], subscribers[subscriber[rows[0]]])
            self._noticed.setdefault(whose, []).append(message[rows])


def _distinct(messages: list[Ints]) -> Ints:
    return np.unique(np.concatenate([np.zeros(0, np.int64), *messages]))
