"""A driver's timer: the earliest deadline counts, and later ones cost nothing."""

from __future__ import annotations

import asyncio
from time import monotonic_ns

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.live.net.wakeup_timer import WakeupTimer


class Loop:
    """Remembers what it is asked to call, and never calls it."""

    def __init__(self) -> None:
        self.delays_s: list[float] = []
        self.cancelled = 0

    def call_later(self, delay_s: float, _callback: object) -> Loop:
        self.delays_s.append(delay_s)
        return self

    def cancel(self) -> None:
        self.cancelled += 1


def test_it_calls_back_when_the_time_has_come() -> None:
    async def program() -> None:
        fired = asyncio.Event()
        timer = WakeupTimer(asyncio.get_running_loop(), fired.set)
        wakeup = monotonic_ns() + 5 * MILLISECOND
        timer.arm(wakeup)
        async with asyncio.timeout(10):
            await fired.wait()
        assert monotonic_ns() >= wakeup - MILLISECOND

    asyncio.run(program())


def test_only_an_earlier_deadline_arms_it_again() -> None:
    loop, now = Loop(), monotonic_ns()
    timer = WakeupTimer(loop, lambda: None)  # type: ignore[arg-type]
    timer.arm(None)
    assert loop.delays_s == []
    timer.arm(now + 20 * SECOND)
    timer.arm(now + 30 * SECOND)
    timer.arm(None)
    assert (len(loop.delays_s), loop.cancelled) == (1, 0)
    timer.arm(now + 10 * SECOND)
    assert (len(loop.delays_s), loop.cancelled) == (2, 1)
    assert loop.delays_s[1] < loop.delays_s[0]
    timer.cancel()
    assert loop.cancelled == 2
    timer.cancel()
    assert loop.cancelled == 2
