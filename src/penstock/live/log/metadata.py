"""What a log keeps beside its segments: the format, and how far it has been trimmed.

A small file, replaced as a whole. For each of the last segments that were removed it says how many
messages there were up to its last tick, so that a gap below the trim point has a narrow bound.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple

import msgspec

from penstock.kernel.errors import UsageError
from penstock.live.log.file_system import FileSystem, read_file, replace_file
from penstock.live.log.segment import FORMAT, check_format

METADATA_NAME: Final = "log.json"
_TRIMS_MAX: Final = 1_024


class TrimMark(NamedTuple):
    """The end of a removed segment."""

    last_tick: int
    # The first record behind it, and all messages up to it.
    next_number: int
    messages: int


class Metadata(msgspec.Struct, frozen=True):
    """The contents of the file; marks by rising ticks."""

    format: int = FORMAT
    trims: tuple[TrimMark, ...] = ()

    @property
    def trimmed_upto(self) -> int:
        """Nothing is left up to and including this tick."""
        return self.trims[-1].last_tick if self.trims else 0

    @property
    def first_number(self) -> int:
        """The number of the first record that is left."""
        return self.trims[-1].next_number if self.trims else 1

    @property
    def trimmed_messages(self) -> int:
        """How many messages were removed, ever."""
        return self.trims[-1].messages if self.trims else 0

    def messages_upto(self, tick: int) -> int:
        """How many removed messages had ticks up to this one, at the least."""
        place = bisect_right(self.trims, tick, key=_last_tick)
        return self.trims[place - 1].messages if place else 0

    def messages_between(self, start: int, stop: int) -> int:
        """How many removed messages had ticks from `start` up to `stop`, at the most."""
        place = min(bisect_left(self.trims, stop - 1, key=_last_tick), len(self.trims) - 1)
        return self.trims[place].messages - self.messages_upto(start - 1) if self.trims else 0

    def with_trims(self, marks: list[TrimMark]) -> Metadata:
        """After more segments have been removed."""
        return Metadata(self.format, (*self.trims, *marks)[-_TRIMS_MAX:])


def load_metadata(fs: FileSystem, directory: str) -> Metadata | None:
    """What the file says; None if there is none."""
    path = f"{directory}/{METADATA_NAME}"
    try:
        data = read_file(fs, path)
    except FileNotFoundError:
        return None
    try:
        check_format(msgspec.json.decode(data, type=_Versioned).format, path)
        return msgspec.json.decode(data, type=Metadata)
    except msgspec.DecodeError:
        raise UsageError(
            f"{path} is damaged: remove it, and the log begins at its oldest segment"
        ) from None


def save_metadata(fs: FileSystem, directory: str, metadata: Metadata) -> None:
    """Durable when it returns."""
    replace_file(fs, directory, METADATA_NAME, msgspec.json.encode(metadata))


class _Versioned(msgspec.Struct):
    format: int


def _last_tick(mark: TrimMark) -> int:
    return mark.last_tick
