"""Digests that are lost: the next one tells the same, and only then is it asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.transport.detect.reply_suppression import Audience, ReplySuppression
from penstock.transport.recovery import settings as recovery
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.limits import ALL_MESSAGES
from tests.transport.recovery.bus import Bus

PUBLISHER, ONE = 1, 2
NUMBERED = replace(recovery.DEFAULT, tracks=True)
# Sent at a time when digests have been wanted for long.
LATE = 250
COUNT = 400


def run(
    lost_digests: int, settings: recovery.RecoverySettings, *, lost: int = LATE, tail_s: int = 5
) -> Bus:
    """Message `lost` is lost, and so many digests after it that would tell of it."""
    seen: set[int] = set()

    def loses(_sender: int, _receiver: int, frame: TransportFrame) -> bool:
        if isinstance(frame, Digest) and frame.to is None and frame.seq >= lost:
            seen.add(frame.digest_seq)
            return len(seen) <= lost_digests
        return isinstance(frame, Data) and frame.seq == lost

    bus = Bus(loses=loses)
    bus.add(PUBLISHER, settings, record=1)
    bus.add(ONE, settings, interest="topic = 0")
    for number in range(COUNT):
        bus.publish(PUBLISHER, topic=number % 10)
        bus.run(20 * MILLISECOND)
    bus.run(tail_s * SECOND)
    return bus


def recalled_digests(bus: Bus) -> list[RangeRequest]:
    found = [frame for frame in bus.frames(RangeRequest) if isinstance(frame, RangeRequest)]
    return [recall for recall in found if recall.flow_id is None]


@pytest.mark.parametrize("settings", [recovery.DEFAULT, NUMBERED], ids=["told", "numbered"])
@pytest.mark.parametrize("lost_digests", [0, 1])
def test_one_that_is_lost_is_not_missed(
    lost_digests: int, settings: recovery.RecoverySettings
) -> None:
    bus = run(lost_digests, settings)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(0, COUNT, 10))
    assert recalled_digests(bus) == []


@pytest.mark.parametrize("lost_digests", [2, 3, 5])
def test_of_several_the_first_ones_are_asked_for(lost_digests: int) -> None:
    bus = run(lost_digests, recovery.DEFAULT)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(0, COUNT, 10))
    asked = recalled_digests(bus)
    # What was new in the last of them the next one tells again.
    assert sum(count for _, count in asked[0].ranges) == lost_digests - 1


@pytest.mark.parametrize("settings", [recovery.DEFAULT, NUMBERED], ids=["told", "numbered"])
def test_the_last_message_is_told_of_twice(settings: recovery.RecoverySettings) -> None:
    bus = run(1, settings, lost=COUNT - 10)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(0, COUNT, 10))


def test_many_who_begin_to_listen_are_told_of_the_past_together() -> None:
    bus = Bus()
    bus.add(PUBLISHER, recovery.DEFAULT, record=1)
    listeners = range(2, 42)
    for each in listeners:
        bus.add(each, recovery.DEFAULT, interest=f"topic = {each % 10}")
    for number in range(COUNT):
        bus.publish(PUBLISHER, topic=number % 10)
        bus.run(10 * MILLISECOND)
    asked = [f for f in bus.frames(RangeRequest) if getattr(f, "flow_id", 0) == ALL_MESSAGES]
    told = [f for f in bus.frames(Digest) if getattr(f, "is_reply", False)]
    # As many ask as there are, and nearly all for the same.
    assert len(asked) >= len(listeners) // 2
    assert 1 <= len(told) <= len(asked) / 2


def test_all_are_told_once_and_who_asks_again_alone() -> None:
    shared = ReplySuppression()
    assert shared.audience(7, 1, 100, now=0) is Audience.ALL
    assert shared.audience(7, 2, 100, now=50) is Audience.NONE
    assert shared.audience(7, 2, 100, now=60) is Audience.REQUESTER
    assert shared.audience(7, 3, 100, now=100) is Audience.REQUESTER
    assert shared.audience(8, 3, 100, now=100) is Audience.ALL


def test_who_asks_first_may_be_the_only_one() -> None:
    shared = ReplySuppression(unicast_first=True)
    assert shared.audience(7, 1, 100, now=0) is Audience.REQUESTER
    assert shared.audience(7, 1, 100, now=10) is Audience.REQUESTER
    assert shared.audience(7, 2, 100, now=20) is Audience.ALL
    assert shared.audience(7, 3, 100, now=30) is Audience.NONE
    assert shared.audience(7, 1, 100, now=40) is Audience.REQUESTER
