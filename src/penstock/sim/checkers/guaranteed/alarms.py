"""No broker takes a restart, a lost link or a slow one for a log that was restored."""

from __future__ import annotations

from penstock.sim.checkers.guaranteed.base import StreamChecker
from penstock.sim.guaranteed.network import StreamNetwork


class AlarmChecker(StreamChecker):
    """Looks at the end only."""

    name = "alarms"

    def __init__(self, *, may_roll_back: bool) -> None:
        super().__init__()
        self._allowed = {"gap_open", "rolled_back"} if may_roll_back else {"gap_open"}

    def at_end(self, network: StreamNetwork) -> None:
        """Looks at what every broker has told."""
        for broker in network.brokers.values():
            for alarm in broker.alarms:
                if alarm.kind not in self._allowed:
                    self.report(f"{broker.name}: {alarm.text}")
