"""Measurements of several places: complete, or without those that do not answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.guaranteed.lag import TIMEOUT_NS, Behind, LagRequests, Place
from penstock.wire.frames.guaranteed.lag import LagAnswer, LagRequest


class Asked:
    """A broker with two pubends, of which it is known what they were asked."""

    def __init__(self) -> None:
        self.name, self.life = "b", 7
        self.relays = {1: SimpleNamespace(parent="up"), 2: SimpleNamespace(parent=None)}
        self.frames: list[LagRequest] = []
        self.told: list[Any] = []
        self.router = self
        self.lags = LagRequests(self)  # type: ignore[arg-type]

    def ask(self, frame: LagRequest) -> None:
        self.frames.append(frame)

    def measure(self, *places: Place, now: int = 0) -> None:
        self.lags.measure(places, lambda found, _now: self.told.append(found), now=now)

    def answer(self, number: int, messages: int) -> None:
        frame = self.frames[number]
        self.lags.on_answer(
            LagAnswer(
                pubend=frame.pubend,
                host="b",
                serial=frame.serial,
                messages=messages,
                size_bytes=50 * messages,
                limit_bytes=1_000,
                age_us=3_000_000,
                is_upper_bound=False,
            ),
            now=1,
        )


def test_a_measurement_is_told_when_the_last_pubend_has_answered() -> None:
    broker = Asked()
    broker.measure(Place(1, 10), Place(1, 20), Place(1, 10))
    assert [frame.tick for frame in broker.frames] == [10, 20]
    broker.answer(1, messages=4)
    assert broker.told == []
    broker.answer(0, messages=8)
    broker.answer(0, messages=8)
    assert broker.told == [
        {Place(1, 20): Behind(4, 200, 3.0, 0.2), Place(1, 10): Behind(8, 400, 3.0, 0.4)}
    ]
    assert broker.lags.next_wakeup() is None


def test_a_pubend_that_nobody_serves_or_that_is_unknown_is_not_asked() -> None:
    broker = Asked()
    broker.measure(Place(2, 10), Place(3, 10))
    assert (broker.frames, broker.told) == ([], [{}])


def test_what_is_not_answered_in_time_stays_unknown() -> None:
    broker = Asked()
    broker.measure(Place(1, 10), Place(1, 20))
    broker.measure(Place(1, 30), now=5)
    broker.answer(0, messages=1)
    broker.lags.wake(now=TIMEOUT_NS - 1)
    assert broker.told == []
    assert broker.lags.next_wakeup() == TIMEOUT_NS
    broker.lags.wake(now=TIMEOUT_NS)
    assert broker.told == [{Place(1, 10): Behind(1, 50, 3.0, 0.05)}]
    # An answer that comes too late changes nothing.
    broker.answer(1, messages=2)
    assert broker.lags.next_wakeup() == TIMEOUT_NS + 5
    broker.lags.wake(now=2 * TIMEOUT_NS)
    assert len(broker.told) == 2
