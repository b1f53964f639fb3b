"""Acknowledgements wait for each other, and the last of each host is never lost."""

from __future__ import annotations

from penstock.guaranteed.relay.gathered_acks import GatheredAcks
from penstock.wire.frames.guaranteed.base import ACK_ENTRIES_MAX, Serial
from penstock.wire.frames.guaranteed.rows import Ack, HostAck

WAIT_NS = 50


def entry(host: str, tick: int) -> HostAck:
    return HostAck(host, Serial(1, 1), tick)


def ack(*entries: HostAck) -> Ack:
    return Ack(pubend=1, entries=entries)


def test_what_comes_within_a_moment_leaves_together_the_last_of_each_host() -> None:
    acks = GatheredAcks(1, wait_ns=WAIT_NS)
    acks.add(ack(entry("s", 10), entry("t", 20)), now=100)
    acks.add(ack(entry("s", 30)), now=120)
    assert acks.next_wakeup() == 150
    assert acks.due(149) == []
    assert acks.due(150) == [ack(entry("s", 30), entry("t", 20))]
    assert acks.next_wakeup() is None
    assert acks.due(1_000) == []


def test_a_new_parent_is_told_of_all_hosts_at_once() -> None:
    acks = GatheredAcks(1, wait_ns=WAIT_NS)
    acks.repeat()
    assert acks.next_wakeup() is None
    acks.add(ack(entry("s", 10)), now=0)
    assert acks.due(WAIT_NS)
    acks.repeat()
    assert acks.due(WAIT_NS) == [ack(entry("s", 10))]


def test_more_hosts_than_a_frame_takes_leave_in_several() -> None:
    acks = GatheredAcks(1, wait_ns=WAIT_NS)
    every = [entry(f"h{at}", at) for at in range(ACK_ENTRIES_MAX + 1)]
    for each in every:
        acks.add(ack(each), now=0)
    first, second = acks.due(WAIT_NS)
    assert [*first.entries, *second.entries] == every
