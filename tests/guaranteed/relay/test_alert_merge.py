"""UCAs of children: figure 5, and what it lets through."""

from __future__ import annotations

from math import inf

import pytest

from penstock.guaranteed.relay.alert_merge import AlertMerge
from penstock.wire.frames.guaranteed.congestion import CongestionAlert


def alert(
    seq: int, normal: float = inf, recovering: float = inf, position: int = 9
) -> CongestionAlert:
    return CongestionAlert(
        pubend=7, seq=seq, normal_rate=normal, recovering_rate=recovering, position=position
    )


def test_the_first_goes_up_at_once_and_the_others_join_the_next() -> None:
    merge = AlertMerge(7)
    assert merge.add(alert(1, 0.9)) == alert(1, 0.9)
    assert merge.add(alert(1, 0.5, position=3)) is None
    assert merge.add(alert(1, recovering=1.5)) is None
    assert merge.add(alert(2, 0.8)) == alert(2, 0.5, 1.5, position=3)
    assert merge.add(alert(3, 0.7)) == alert(3, 0.7)


@pytest.mark.spec("G7")
def test_what_is_two_queries_old_is_dropped() -> None:
    merge = AlertMerge(7)
    merge.add(alert(1, 0.9))
    merge.add(alert(1, 0.1))
    assert merge.add(alert(4, 0.8)) == alert(4, 0.8)
    merge.add(alert(2, 0.1))
    assert merge.add(alert(5, 0.8)) == alert(5, 0.8)


@pytest.mark.spec("G7")
def test_as_printed_it_leaks_however_late() -> None:
    merge = AlertMerge(7, keeps_all=True)
    merge.add(alert(1, 0.9))
    merge.add(alert(1, 0.1))
    assert merge.add(alert(40, 0.8)) == alert(40, 0.1)
