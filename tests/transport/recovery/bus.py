"""A shared bus whose endpoints differ in what the tests of recovery and congestion vary."""

from __future__ import annotations

from penstock.content.syntax import parse
from penstock.testing.shared_bus import SharedBus
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.endpoint import Endpoint
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.settings import (
    DEFAULT,
    EndpointSettings,
    OrderingSettings,
    RecordSettings,
)
from penstock.wire.frames.base import TransportFrame


class Bus(SharedBus):
    def add(
        self,
        me: int,
        recovery: RecoverySettings | None,
        *,
        record: int = 10,
        epoch: int = 1,
        interest: str | None = None,
        ordering: OrderingSettings = DEFAULT,
        congestion: CongestionSettings | None = None,
    ) -> Endpoint[TransportFrame]:
        settings = EndpointSettings(
            record=RecordSettings(size=record), recovery=recovery, congestion=congestion
        )
        return self.attach(
            me,
            settings,
            epoch=epoch,
            interest=None if interest is None else parse(interest),
            ordering=ordering,
        )
