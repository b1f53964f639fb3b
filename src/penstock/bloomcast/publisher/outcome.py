"""How a transfer ended, as its publisher tells it.

The publisher knows relays that have failed, and not who hangs below: the controller names these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from penstock.bloomcast.facts import TransferFinished
from penstock.bloomcast.outbox import Outbox
from penstock.wire.frames.cast.base import FAILED_MAX
from penstock.wire.frames.cast.transfer import Stop


class Outcome:
    """Told at once if nobody has failed, else when the failed are named, or nobody names them."""

    def __init__(self, out: Outbox) -> None:
        self._out: Final = out
        self._finished: TransferFinished | None = None

    def end(self, finished: TransferFinished) -> Stop:
        """The transfer has ended: what the controller is to hear of it."""
        self._finished = finished
        if not finished.failed:
            self.tell()
        return Stop(done=finished.done, failed=finished.failed[:FAILED_MAX])

    def named(self, failed: tuple[int, ...]) -> None:
        """The controller says who of those it was told has failed."""
        finished = self._finished
        if finished is not None:
            named = dict.fromkeys([*failed, *finished.failed[FAILED_MAX:]])
            self._finished = replace(finished, failed=tuple(named))
            self.tell()

    def tell(self) -> None:
        """Nothing more will be known."""
        if self._finished is not None:
            self._out.tell(self._finished)
            self._finished = None
