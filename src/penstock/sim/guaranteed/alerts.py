"""Records what hosts say of themselves when it arrives at the broker that has the pubend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final

from penstock.guaranteed.broker import AnyFrame
from penstock.guaranteed.tick import duration_ns
from penstock.kernel.machine import Port
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.guaranteed.watcher import NetworkWatcher
from penstock.trace.alert_kind import AlertKind
from penstock.trace.records import StreamAlert
from penstock.tracing.row_sink import RowSink
from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionReport,
    Progress,
)


class AlertRecorder(NetworkWatcher):
    """Of all pubends of a network; a row for each kind of hosts that UCA or REPORT tells of."""

    def __init__(self, network: StreamNetwork, sink: RowSink, pubends: Mapping[int, str]) -> None:
        self._network: Final = network
        self._add: Final = sink.add
        self._pubends: Final = pubends

    def on_arrival(self, receiver: str, port: Port, frames: Sequence[AnyFrame]) -> None:  # noqa: ARG002
        """Looks for alerts and reports about pubends of this broker."""
        for frame in frames:
            if isinstance(frame, CongestionAlert | CongestionReport) and (
                frame.pubend in self._network.brokers[receiver].machine.pubends
            ):
                for kind, rate in _rates(frame).items():
                    if rate is not None:
                        name = self._pubends[frame.pubend]
                        now = self._network.events.now
                        self._add(StreamAlert(now, receiver, name, frame.seq, kind, rate))


def _rates(frame: CongestionAlert | CongestionReport) -> dict[AlertKind, float | None]:
    """What is said of hosts of each kind."""
    if isinstance(frame, CongestionAlert):
        normal, recovering = _told(frame.normal_rate), _told(frame.recovering_rate)
    else:
        normal, recovering = _rate_of(frame.normal), _rate_of(frame.recovering)
    return {AlertKind.NORMAL: normal, AlertKind.RECOVERING: recovering}


def _told(rate: float) -> float | None:
    return rate if isfinite(rate) else None


def _rate_of(progress: Progress | None) -> float | None:
    if progress is None or not progress.elapsed_ns:
        return None
    return duration_ns(progress.stop - progress.start) / progress.elapsed_ns
