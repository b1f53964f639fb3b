"""Logs that were restored from a backup: nobody is left to believe that all is well."""

from __future__ import annotations

import pytest

from penstock.guaranteed.settings import BrokerSettings, RelaySettings
from penstock.kernel.instant import SECOND
from penstock.sim.checkers.guaranteed.trim import cursors_on_disk
from penstock.sim.guaranteed.application import ReadingProgram
from penstock.sim.guaranteed.disk import DiskBackup
from penstock.wire.frames.guaranteed.base import GapReason

from .asking import Operator
from .line import PUBEND, Line


def restore(line: Line, backup: DiskBackup, *, clock_s: int = 0) -> None:
    """The disk of p holds an older copy, and its clock may be wrong."""
    broker = line.network.brokers["p"]
    line.network.crash("p")
    broker.disk.restore(backup)
    broker.wall_offset_ns += clock_s * SECOND
    line.network.restart("p")


def rolled_back(line: Line) -> Line:
    """Twenty messages are in the backup, twenty more were read and are lost with the log."""
    line.publish(20)
    line.run(500)
    backup = line.network.brokers["p"].disk.backup()
    # The lease of the backup lies two seconds ahead: what is said up to there betrays nothing.
    line.run(3_000)
    line.publish(20)
    line.run(500)
    restore(line, backup)
    return line


def alarms(line: Line, broker: str) -> list[str]:
    return [alarm.kind for alarm in line.network.brokers[broker].alarms]


def test_a_host_that_has_read_what_a_restored_log_no_longer_has_tells_of_a_gap() -> None:
    line = Line(14)
    reader = line.reader("r")
    rolled_back(line)
    line.connect()
    line.publish(20)
    line.run(5_000)
    assert reader.values() == [*range(60)]
    [gap] = reader.life.missed
    assert gap.reason is GapReason.ROLLED_BACK
    ticks = sorted(position.tick for position in line.writer.confirmed.values())
    assert ticks[39] < gap.start
    assert gap.stop <= ticks[40]
    assert alarms(line, "s") == ["rolled_back"]
    assert line.is_idle


def test_every_reader_of_that_host_is_told_also_one_that_was_behind_or_away() -> None:
    line = Line(15)
    line.reader("r")
    slow = line.reader("slow", window=1, is_paused=True)
    away = line.reader("away")
    away.close()
    rolled_back(line)
    line.connect()
    line.publish(5)
    slow.resume()
    away.open()
    line.run(10_000)
    for reader in (slow, away):
        # What was lost before it came to them, they never see: the gap says so.
        assert [value for value in reader.values() if not 20 <= int(value) < 40] == [
            *range(20),
            *range(40, 45),
        ]
        assert [gap.reason for gap in reader.life.missed] == [GapReason.ROLLED_BACK]
    assert line.is_idle


def test_a_rollback_is_told_once_through_restarts_of_the_host() -> None:
    line = Line(16)
    reader = line.reader("r")
    rolled_back(line)
    line.connect()
    line.publish(5)
    line.run(3_000)
    for _ in range(3):
        line.network.crash("s")
        line.network.restart("s")
        line.connect()
        line.run(3_000)
    assert len(reader.life.missed) == 1
    assert alarms(line, "s") == ["rolled_back"]


def test_a_restart_is_no_rollback_however_often_and_wherever() -> None:
    line = Line(17)
    reader = line.reader("r")
    for at in range(40):
        line.publish(2)
        name = "pis"[at % 3]
        line.network.crash(name)
        line.run(70)
        line.network.restart(name)
        line.connect()
        line.run(130)
    line.run(5_000)
    assert not reader.life.missed
    assert reader.values() == [*range(80)]
    assert not any(alarms(line, name) for name in "pis")


def test_a_relay_forgets_what_a_restored_log_no_longer_has() -> None:
    line = Line(18, BrokerSettings(relay=RelaySettings()))
    line.reader("r")
    rolled_back(line)
    relay = line.network.brokers["i"].machine.relays[PUBEND]
    line.connect()
    line.run(1_000)
    lost = sorted(position.tick for position in line.writer.confirmed.values())[20:40]
    assert lost[-1] < relay.horizon
    assert not relay.cache.known.data_between(lost[0], lost[-1] + 1)


def test_a_host_stops_at_a_log_whose_ticks_it_has_read_already() -> None:
    """The clock was set back too, so the same ticks come again, for other messages."""
    line = Line(19)
    reader = line.reader("r")
    line.publish(20)
    line.run(100)
    backup = line.network.brokers["p"].disk.backup()
    line.publish(20)
    line.run(10_000)
    restore(line, backup, clock_s=-3600)
    line.connect()
    line.publish(20)
    line.run(5_000)
    cursor = cursors_on_disk(line.network)["s"][PUBEND]
    assert all(position.tick < cursor for position in line.writer.confirmed.values())
    assert reader.values() == [*range(40)]
    [ended] = reader.life.ended
    assert ended.refused.reason == "rolled_back"
    assert "seek or delete 'r'" in ended.refused.text
    assert alarms(line, "s") == ["above_lease"]
    reader.open()
    line.run(500)
    assert [each.refused.reason for each in reader.life.ended] == ["rolled_back"]
    assert Operator(line.network, "s").ask("seek", durable="r", start="first") == {}
    line.run(500)
    reader.open()
    line.run(2_000)
    # The first twenty are in the backup; the next were lost with the log.
    assert reader.values() == [*range(20), *range(40, 60)]
    assert line.is_idle


def test_a_broker_that_stores_and_hosts_notices_that_its_log_alone_was_restored() -> None:
    line = Line(20)
    reader = line.reader("r", "p")
    line.publish(20)
    line.run(500)
    disk = line.network.brokers["p"].disk
    backup = disk.backup()
    line.run(3_000)
    line.publish(20)
    line.run(500)
    restore(line, DiskBackup(backup.logs, dict(disk.saved)))
    line.connect()
    line.publish(5)
    line.run(3_000)
    assert [gap.reason for gap in reader.life.missed] == [GapReason.ROLLED_BACK]
    assert reader.values() == [*range(45)]


@pytest.mark.parametrize("durable", ["r", ""])
def test_a_client_that_has_read_more_than_a_restored_directory_knows_is_told_of_a_gap(
    durable: str,
) -> None:
    """Cursors are as old as the log: nobody but the client knows that there was more."""
    line = Line(21)
    reader = ReadingProgram(line.network, "r", "p", stream="orders", durable=durable)
    line.run(50)
    reader.open()
    line.run(100)
    rolled_back(line)
    line.connect()
    line.publish(5)
    line.run(3_000)
    [gap] = reader.life.missed
    assert gap.reason is GapReason.ROLLED_BACK
    assert reader.values() == [*range(45)]
    reader.client.disconnect()
    reader.client.connect()
    line.run(3_000)
    assert len(reader.life.missed) == 1
    assert line.is_idle
