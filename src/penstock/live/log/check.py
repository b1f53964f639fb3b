"""Reads every block of a log and says what is wrong, for `penstock stream check DIR`.

Changes nothing and takes no lock. What the disk cannot read counts as damaged. Of a log that is
being written to, the last blocks may look torn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest

from penstock.kernel.errors import UsageError
from penstock.live.log.block import SECTOR_BYTES, Block
from penstock.live.log.file_system import FileSystem, OsFileSystem, read_into
from penstock.live.log.lease_file import read_synced_upto
from penstock.live.log.metadata import load_metadata
from penstock.live.log.scan import DamagedPlace, scan_segment
from penstock.live.log.segment import (
    decoded_header,
    id_of_first_block,
    number_of_name,
    segment_name,
)


@dataclass(frozen=True, slots=True)
class DamageFound:
    """A place that cannot be read; the ticks are those between its readable neighbours."""

    segment: str
    offset: int
    size_bytes: int
    # The last tick before it, and the first one behind it; None at the end of the log.
    tick_before: int
    tick_behind: int | None
    # At most; None where nothing behind it tells.
    messages: int | None

    def in_words(self, show: Callable[[int], str]) -> str:
        """For people; `show` writes a tick."""
        messages = "messages" if self.messages is None else f"at most {_some(self.messages)}"
        upto = ", up to the end" if self.tick_behind is None else ""
        return (
            f"{self.segment} damaged at byte {self.offset:,}:"
            f" {messages} behind {show(self.tick_before)}{upto}"
        )


@dataclass(slots=True)
class LogReport:
    """What a log directory holds."""

    segments: int = 0
    blocks: int = 0
    records: int = 0
    messages: int = 0
    size_bytes: int = 0
    first_tick: int = 0
    last_tick: int = 0
    lease: int = 0
    trimmed_upto: int = 0
    # Behind the last block: what the last cut of power left; removed when the log is opened.
    torn_bytes: int = 0
    damage: list[DamageFound] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether all that was ever confirmed can be read, or was trimmed on purpose."""
        return not self.damage

    def lines(self, show: Callable[[int], str]) -> list[str]:
        """For people; `show` writes a tick."""
        lines = [
            f"{_some(self.segments, 'segment')}, {self.size_bytes:,} bytes,"
            f" {_some(self.blocks, 'block')}",
        ]
        if self.messages:
            first, last = show(self.first_tick), show(self.last_tick)
            between = f" at {first}" if self.messages == 1 else f" from {first} to {last}"
            lines.append(f"{_some(self.messages)}{between}")
        else:
            lines.append("no messages")
        if self.trimmed_upto:
            lines.append(f"trimmed up to {show(self.trimmed_upto)}")
        if self.torn_bytes:
            lines.append(f"torn tail: {self.torn_bytes:,} bytes, which nobody was promised")
        lines += [damage.in_words(show) for damage in self.damage]
        lines.append("sound" if self.is_sound else "damaged: restore a backup, or accept the gaps")
        return lines


def check_log(
    directory: str,
    *,
    fs: FileSystem | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> LogReport:
    """Reads all segments of a log; `on_progress` gets the bytes read and those there are."""
    fs = OsFileSystem() if fs is None else fs
    numbers = [n for n in map(number_of_name, fs.names(directory)) if n is not None]
    metadata = load_metadata(fs, directory)
    if metadata is None and not numbers:
        raise UsageError(
            f"{directory} is no log, nor the directory of a broker: name what --directory was given"
        )
    report = LogReport(trimmed_upto=metadata.trimmed_upto if metadata is not None else 0)
    checking = _Checking(report)
    size_bytes = _size_bytes(fs, directory, numbers)
    data = bytearray()
    synced_upto = read_synced_upto(fs, directory)
    first_number = metadata.first_number if metadata is not None else 1
    if not numbers and first_number <= synced_upto:
        # All files are missing.
        checking.damage(segment_name(first_number), 0, 0)
    for number, next_number in zip_longest(numbers, numbers[1:]):
        path = f"{directory}/{segment_name(number)}"
        fd = fs.open(path)
        try:
            data = read_into(fs, fd, data, skips_bad=True)
        finally:
            fs.close(fd)
        segment_id = decoded_header(data[:SECTOR_BYTES], path)
        if segment_id is None:
            segment_id = id_of_first_block(data, number)
        scan = scan_segment(
            data,
            segment_id,
            start=SECTOR_BYTES,
            first_number=number,
            synced_upto=next_number - 1 if next_number else synced_upto,
        )
        report.segments += 1
        report.size_bytes += len(data)
        if next_number is None:
            report.torn_bytes = scan.torn_bytes
        for place in scan.places:
            if isinstance(place, DamagedPlace):
                checking.damage(segment_name(number), place.offset, place.stop - place.offset)
            else:
                checking.block(place[1])
        if next_number is not None and scan.stop_number < next_number:
            checking.damage(segment_name(scan.stop_number), 0, 0)
        if on_progress is not None:
            on_progress(report.size_bytes, size_bytes)
    checking.end()
    return report


def _some(count: int, thing: str = "message") -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _size_bytes(fs: FileSystem, directory: str, numbers: list[int]) -> int:
    size_bytes = 0
    for number in numbers:
        fd = fs.open(f"{directory}/{segment_name(number)}")
        size_bytes += fs.size_bytes(fd)
        fs.close(fd)
    return size_bytes


class _Checking:
    """Follows the blocks: each says how many messages should have come before it."""

    def __init__(self, report: LogReport) -> None:
        self._report = report
        self._messages: int | None = None
        self._open: tuple[str, int, int] | None = None

    def damage(self, segment: str, offset: int, size_bytes: int) -> None:
        if self._open is None:
            self._open = (segment, offset, size_bytes)

    def block(self, block: Block) -> None:
        report = self._report
        if self._open is not None:
            self._close(block)
        if self._messages is None or not report.messages:
            report.first_tick = block.first_tick
        self._messages = block.stop_message
        report.blocks += 1
        report.records += block.records
        report.messages += block.records - block.snapshots
        report.last_tick = block.last_tick
        report.lease = max(report.lease, block.lease)

    def end(self) -> None:
        if self._open is not None:
            self._close(None)

    def _close(self, block: Block | None) -> None:
        assert self._open is not None
        messages = None
        if block is not None and self._messages is not None:
            messages = block.first_message - self._messages
        tick_behind = block.first_tick if block is not None else None
        self._report.damage.append(
            DamageFound(*self._open, self._report.last_tick, tick_behind, messages)
        )
        self._open = None
