"""Reads every block of a log and says what is wrong, for `penstock stream check DIR`.

Changes nothing and takes no lock. Of a log that is being written to, the last blocks may look torn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest

from penstock.kernel.errors import UsageError
from penstock.live.log.block import SECTOR_BYTES, Block
from penstock.live.log.file_system import FileSystem, OsFileSystem, read_file
from penstock.live.log.lease_file import read_synced_upto
from penstock.live.log.metadata import METADATA_NAME, load_metadata
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

    def __str__(self) -> str:
        messages = "messages" if self.messages is None else f"at most {self.messages:,} messages"
        behind = "the end" if self.tick_behind is None else f"tick {self.tick_behind}"
        return (
            f"damaged: {self.segment} at byte {self.offset:,}, {self.size_bytes:,} bytes, "
            f"{messages} between tick {self.tick_before} and {behind}"
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

    def lines(self) -> list[str]:
        """For people."""
        lines = [
            f"{self.segments:,} segments, {self.size_bytes:,} bytes, {self.blocks:,} blocks",
            f"{self.messages:,} messages from tick {self.first_tick} to {self.last_tick}",
        ]
        if self.trimmed_upto:
            lines.append(f"trimmed up to tick {self.trimmed_upto}")
        if self.torn_bytes:
            lines.append(f"torn tail: {self.torn_bytes:,} bytes, which nobody was promised")
        lines += [str(damage) for damage in self.damage]
        lines.append("sound" if self.is_sound else "damaged: restore a backup, or accept the gaps")
        return lines


def check_log(directory: str, *, fs: FileSystem | None = None) -> LogReport:
    """Reads all segments of a log."""
    fs = OsFileSystem() if fs is None else fs
    numbers = [n for n in map(number_of_name, fs.names(directory)) if n is not None]
    metadata = load_metadata(fs, directory)
    if metadata is None and not numbers:
        raise UsageError(f"{directory} is no log: name a directory with a {METADATA_NAME}")
    report = LogReport(trimmed_upto=metadata.trimmed_upto if metadata is not None else 0)
    checking = _Checking(report)
    for number, next_number in zip_longest(numbers, numbers[1:]):
        path = f"{directory}/{segment_name(number)}"
        data = read_file(fs, path)
        segment_id = decoded_header(data[:SECTOR_BYTES], path)
        if segment_id is None:
            segment_id = id_of_first_block(data, number)
        scan = scan_segment(
            data,
            segment_id,
            start=SECTOR_BYTES,
            first_number=number,
            synced_upto=next_number - 1 if next_number else read_synced_upto(fs, directory),
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
    checking.end()
    return report


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
