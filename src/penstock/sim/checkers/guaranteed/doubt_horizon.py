"""The doubt horizon of a reader, and the position of a feed, never move back within a life."""

from __future__ import annotations

from penstock.sim.checkers.guaranteed.base import StreamChecker
from penstock.sim.guaranteed.network import StreamNetwork


class DoubtHorizonChecker(StreamChecker):
    """Compares with the sample before."""

    name = "doubt horizon"

    def __init__(self) -> None:
        super().__init__()
        # By broker, life, pubend and reader.
        self._before: dict[tuple[str, int, int, int], int] = {}

    def sample(self, network: StreamNetwork) -> None:
        """Looks at every reader of every host that is up."""
        found: dict[tuple[str, int, int, int], int] = {}
        for broker in network.brokers.values():
            if not broker.is_up:
                continue
            for pubend, reading in broker.machine.host.readings.items():
                for number, doubt in reading.doubts().items():
                    found[broker.name, broker.life, pubend, number] = doubt
        for key, doubt in found.items():
            if doubt < self._before.get(key, doubt):
                self.report(f"reader {key} went back from {self._before[key]} to {doubt}")
        self._before = found
