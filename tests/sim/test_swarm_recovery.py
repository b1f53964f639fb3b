"""The swarm of guaranteed streams with receive windows so short that hosts recover all the time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import Any

import msgspec
import pytest

from penstock.guaranteed.host.live_reader import LiveReader
from penstock.guaranteed.host.live_switch import LiveSwitch
from penstock.guaranteed.settings import BrokerSettings, CongestionSettings
from penstock.kernel.instant import MILLISECOND, Duration
from penstock.sim.swarm import SwarmFailed
from penstock.sim.swarm.guaranteed import run_guaranteed
from penstock.sim.swarm.guaranteed_options import GuaranteedOptions, draw_guaranteed_options

VARIANTS = (
    CongestionSettings(),
    CongestionSettings(rate_law="corrected"),
    CongestionSettings(rate_law="off", window_law="literal"),
    CongestionSettings(rate_law="off", window_law="none", live=False, filtered_repair=False),
    CongestionSettings(window_law="fixed", filtered_repair=False),
)
WINDOWS_MS = (400, 1_000, 3_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowOptions(GuaranteedOptions):
    """What a seed draws, with another host."""

    receive_window_ns: Duration
    congestion: CongestionSettings

    @property
    def settings(self) -> BrokerSettings:
        """Of all brokers."""
        drawn = {each.name: getattr(self, each.name) for each in fields(GuaranteedOptions)}
        settings = GuaranteedOptions(**drawn).settings
        host = msgspec.structs.replace(settings.host, receive_window_ns=self.receive_window_ns)
        return msgspec.structs.replace(settings, host=host, congestion=self.congestion)


def narrow(seed: int) -> NarrowOptions:
    options = draw_guaranteed_options(seed)
    drawn: dict[str, Any] = {
        each.name: getattr(options, each.name) for each in fields(GuaranteedOptions)
    }
    return NarrowOptions(
        **drawn,
        receive_window_ns=WINDOWS_MS[seed % len(WINDOWS_MS)] * MILLISECOND,
        congestion=VARIANTS[seed % len(VARIANTS)],
    )


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Counter[bool]:
    """How often LIVE was said to be off, and on."""
    counts: Counter[bool] = Counter()
    tell = LiveReader._tell_live

    def count(self: LiveReader) -> None:
        counts[self.is_live_on] += 1
        tell(self)

    monkeypatch.setattr(LiveReader, "_tell_live", count)
    return counts


@pytest.mark.parametrize("start", range(0, 20, 10))
def test_hosts_that_recover_keep_the_promises(start: int, told: Counter[bool]) -> None:
    for seed in range(start, start + 10):
        run_guaranteed(seed, options=narrow(seed))
    assert told[False]
    assert told[True]


@pytest.mark.soak
@pytest.mark.parametrize("start", range(1_000, 2_000, 50))
def test_soak(start: int) -> None:
    for seed in range(start, start + 50):
        run_guaranteed(seed, options=narrow(seed))


def test_live_that_is_never_on_again_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = LiveSwitch.turn

    def never_on_again(self: LiveSwitch, to_go: int, *, is_recovering: bool) -> bool:
        return self.is_on and turn(self, to_go, is_recovering=is_recovering)

    monkeypatch.setattr(LiveSwitch, "turn", never_on_again)
    assert any(fails(seed) for seed in range(0, 60, 5))


def fails(seed: int) -> bool:
    try:
        run_guaranteed(seed, options=narrow(seed))
    except SwarmFailed:
        return True
    return False
