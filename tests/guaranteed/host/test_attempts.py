"""Attempts of one feed, with a disk that is driven by hand."""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.host.attempts import Attempts, Verdict
from penstock.guaranteed.host.durable import KEY, Durable
from penstock.guaranteed.settings import HostSettings
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import SECOND
from penstock.kernel.machine import Save

PUBEND = 0xA
AHEAD = duration_ticks(HostSettings().reserve_ns)


class Bench:
    """A feed's attempts, and what is on disk."""

    def __init__(self, *, again_stop: int = 0, attempts_max: int = 5) -> None:
        self.disk = Disk()
        self.durable = Durable("billing", streams=("orders",), predicate=EVERYTHING)
        self.durable.attempts_max = attempts_max
        self.resumed = 0
        self.resumes_at: Final[list[int]] = []
        self.stored: bytes | None = None
        self.attempts = Attempts(
            self.durable,
            PUBEND,
            disk=self.disk,
            settings=HostSettings(),
            resume=self._on_resume,
            resume_at=self.resumes_at.append,
            again_stop=again_stop,
        )

    def sync(self) -> None:
        while self.disk.outputs:
            save = self.disk.outputs.popleft()
            assert isinstance(save, Save)
            assert save.key == KEY + "billing"
            self.stored = save.value
            self.disk.saved(save.serial, 0)

    def restored(self) -> Durable:
        assert self.stored is not None
        return Durable.restore("billing", self.stored)

    def _on_resume(self, _now: int) -> None:
        self.resumed += 1


def test_nothing_leaves_above_what_is_reserved_on_disk() -> None:
    bench = Bench()
    assert bench.attempts.admit(100, now=0) is Verdict.WAIT
    assert bench.attempts.admit(100, now=0) is Verdict.WAIT
    bench.sync()
    assert bench.resumed == 1
    assert bench.restored().reserved[PUBEND] > 100
    assert bench.attempts.admit(100, now=0) is Verdict.GO
    assert bench.attempts.hand_out(100) == 1
    assert bench.attempts.admit(100 + AHEAD, now=0) is Verdict.GO
    assert bench.attempts.admit(101 + AHEAD, now=0) is Verdict.WAIT


def test_a_reservation_is_renewed_before_it_is_needed() -> None:
    bench = Bench()
    bench.attempts.renew(100)
    bench.sync()
    bench.attempts.renew(100 + AHEAD // 4)
    assert not bench.disk.outputs
    bench.attempts.renew(102 + AHEAD // 2)
    bench.sync()
    assert bench.attempts.reserve(101 + AHEAD)


def test_the_count_is_on_disk_before_a_message_comes_again() -> None:
    bench = Bench(again_stop=200)
    assert bench.attempts.admit(100, now=0) is Verdict.WAIT
    assert bench.stored is None
    bench.sync()
    assert bench.restored().attempts == {PUBEND: (100, 2)}
    assert bench.attempts.admit(100, now=0) is Verdict.GO
    assert bench.attempts.hand_out(100) == 2
    # One at a time.
    assert bench.attempts.admit(101, now=0) is Verdict.WAIT
    assert not bench.disk.outputs
    bench.attempts.acknowledge(100)
    assert bench.attempts.admit(101, now=0) is Verdict.WAIT
    bench.sync()
    assert bench.attempts.admit(101, now=0) is Verdict.GO


def test_a_client_that_lives_on_without_an_acknowledgement_gets_the_rest() -> None:
    bench = Bench(again_stop=200)
    bench.attempts.reserve(300)
    bench.attempts.admit(100, now=0)
    bench.sync()
    assert bench.attempts.admit(100, now=SECOND) is Verdict.GO
    assert bench.attempts.hand_out(100) == 2
    (at,) = bench.resumes_at
    assert at == SECOND + HostSettings().alone_ns
    assert bench.attempts.admit(101, now=at - 1) is Verdict.WAIT
    assert bench.attempts.admit(101, now=at) is Verdict.GO
    assert bench.attempts.hand_out(101) == 2
    assert bench.attempts.admit(102, now=at) is Verdict.GO
    assert bench.attempts.hand_out(102) == 2
    # Only the first of them counts.
    assert bench.restored().attempts == {PUBEND: (100, 2)}
    assert bench.attempts.hand_out(200) == 1


def test_a_message_is_poison_after_its_last_attempt() -> None:
    bench = Bench(again_stop=200, attempts_max=2)
    bench.attempts.admit(100, now=0)
    bench.sync()
    assert bench.attempts.hand_out(100) == 2
    bench.attempts.fail(100, "no", now=0)
    assert bench.attempts.admit(100, now=SECOND) is Verdict.WAIT
    assert bench.attempts.admit(100, now=2 * SECOND) is Verdict.POISON
    assert bench.attempts.count(100) == 2


def test_waits_after_failures_double_up_to_a_minute() -> None:
    bench = Bench(attempts_max=0)
    bench.attempts.admit(100, now=0)
    bench.sync()
    bench.attempts.hand_out(100)
    waits = []
    for _ in range(8):
        bench.attempts.fail(100, "no", now=0)
        assert bench.attempts.again_at is not None
        waits.append(bench.attempts.again_at // SECOND)
        bench.attempts.admit(100, now=60 * SECOND)
        bench.sync()
        bench.attempts.hand_out(100)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
