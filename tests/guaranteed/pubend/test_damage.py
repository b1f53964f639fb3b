"""What is known of damage: found again and in part, mended, trimmed, and taken up from the disk."""

from __future__ import annotations

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.log_record import LogGap, LogRecord
from penstock.guaranteed.pubend.damage import Change, Damage, DamagedTicks
from penstock.kernel.machine import Save
from penstock.wire.frames.guaranteed.base import GapReason


def gap(start: int, stop: int, messages: int, reason: GapReason = GapReason.DAMAGED) -> LogGap:
    return LogGap(start, stop, reason, messages)


def record(tick: int) -> LogRecord:
    return LogRecord(tick, tick, "p", tick, b"")


def restarted(disk: Disk, *, trimmed_upto: int = 0) -> Damage:
    saved = [output.value for output in disk.outputs if isinstance(output, Save)]
    return Damage("key", disk, saved[-1] if saved else None, trimmed_upto=trimmed_upto)


def test_damage_counts_once_however_often_it_is_found() -> None:
    disk = Disk()
    damage = Damage("key", disk, None, trimmed_upto=0)
    assert damage.read([gap(10, 20, 3), gap(30, 40, 1)]) == [Change(19, 3), Change(39, 1)]
    # A reader that begins within it finds the rest of it, with all messages.
    assert damage.read([gap(15, 20, 3)]) == []
    assert (damage.messages, damage.behind(9), damage.behind(10)) == (4, 4, 1)
    # It has grown, and is one now.
    assert damage.read([gap(10, 40, 9)]) == [Change(39, 5)]
    assert [*restarted(disk)] == [DamagedTicks(10, 40, 9)]


def test_what_was_given_up_on_purpose_is_no_damage() -> None:
    damage = Damage("key", Disk(), None, trimmed_upto=0)
    assert damage.read([gap(10, 20, 3, GapReason.RETENTION)]) == []
    assert damage.messages == 0


def test_what_can_be_read_again_is_not_damaged() -> None:
    damage = Damage("key", Disk(), None, trimmed_upto=0)
    damage.read([gap(10, 20, 3)])
    assert damage.read([], [record(9), record(20)]) == []
    assert damage.read([], [record(9), record(12)]) == [Change(19, -3)]
    assert damage.messages == 0


def test_damage_goes_with_what_is_trimmed() -> None:
    disk = Disk()
    damage = Damage("key", disk, None, trimmed_upto=0)
    damage.read([gap(10, 20, 3), gap(30, 40, 1)])
    assert [*restarted(disk, trimmed_upto=25)] == [DamagedTicks(30, 40, 1)]
    damage.trim(19)
    assert [*damage] == [*restarted(disk)] == [DamagedTicks(30, 40, 1)]
