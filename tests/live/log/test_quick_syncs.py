"""When a sync is waited for, and when it is left to the thread."""

from __future__ import annotations

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.live.log.quick_syncs import QuickSyncs


def test_the_first_sync_is_tried() -> None:
    assert QuickSyncs().is_quick(now_ns=0)


def test_one_slow_sync_among_quick_ones_changes_nothing() -> None:
    syncs = QuickSyncs()
    for at in range(10):
        syncs.add(MILLISECOND // 10, now_ns=at)
    syncs.add(5 * MILLISECOND, now_ns=10)
    assert syncs.is_quick(now_ns=11)


def test_after_slow_syncs_one_is_tried_each_second_until_they_are_quick_again() -> None:
    syncs = QuickSyncs()
    now_ns = 0
    for _ in range(8):
        syncs.add(20 * MILLISECOND, now_ns=now_ns)
    assert not syncs.is_quick(now_ns=now_ns)
    tries = 0
    while not syncs.is_quick(now_ns=now_ns):
        now_ns += SECOND
        assert syncs.is_quick(now_ns=now_ns)
        syncs.add(MILLISECOND // 10, now_ns=now_ns)
        tries += 1
    assert 10 < tries < 40
