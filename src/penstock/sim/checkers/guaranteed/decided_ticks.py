"""Nothing is said of a tick before it is decided, on any link.

Whoever hears that all ticks before some tick have been decided must be right: no message at a lower
one may reach a disk later. And nothing is said above the lease that is on disk, because after a
restart such a tick could be given again.
"""

from __future__ import annotations

from penstock.guaranteed.log_record import LogRecord
from penstock.kernel.machine import Append, Save
from penstock.sim.checkers.guaranteed.base import StreamChecker
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.knowledge import Data, Horizon, Silence
from penstock.wire.frames.guaranteed.requests import FilterAck


class DecidedTicksChecker(StreamChecker):
    """Watches all links and all logs."""

    name = "decided ticks"

    def __init__(self) -> None:
        super().__init__()
        # By pubend: the first tick that nobody has said anything about; the lease on disk.
        self._said: dict[int, int] = {}
        self._leases: dict[int, int] = {}

    def on_frame(self, sender: str, frame: BrokerFrame) -> None:
        """Notes how far a broker says that everything has been decided."""
        if isinstance(frame, Data | FilterAck):
            last = frame.tick if isinstance(frame, Data) else frame.tick - 1
        elif isinstance(frame, Silence | Horizon):
            last = frame.stop - 1
        else:
            return
        self._said[frame.pubend] = max(last + 1, self._said.get(frame.pubend, 0))
        if last > self._leases.get(frame.pubend, 0):
            self.report(f"{sender} sends {frame!r}, above the lease {self._leases[frame.pubend]}")

    def on_write(self, broker: str, write: Append | Save) -> None:
        """Compares each message with what was said before."""
        if not isinstance(write, Append):
            return
        pubend = int(write.log, 16)
        self._leases[pubend] = max(write.lease, self._leases.get(pubend, 0))
        for record in write.records:
            if isinstance(record, LogRecord) and record.tick < self._said.get(pubend, 0):
                self.report(
                    f"{broker} stores a message at {record.tick}; all before {self._said[pubend]}"
                    " was said to be decided"
                )
