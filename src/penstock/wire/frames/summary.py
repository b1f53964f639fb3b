"""SUMMARY: the sequence numbers in a broker's database, sent to a neighbour.

The neighbour replies with entries that are missing or older. A summary covers a range of origins,
so that a large network takes several, and an origin of the range that is not listed is unknown to
the sender.
"""

from enum import IntEnum

import msgspec

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import (
    OverlayFrame,
    check_ascending,
    check_count,
    check_type,
    check_unsigned,
)
from penstock.wire.limits import SUMMARY_ROWS_MAX


class Database(IntEnum):
    """The database that a summary describes."""

    LINKS = 0
    DATA_ADVERTS = 1
    REQUEST_ADVERTS = 2


class SummaryRow(msgspec.Struct, frozen=True, gc=False):
    """The latest sequence number of one origin."""

    origin: int
    seq: int

    def __post_init__(self) -> None:
        check_unsigned(32, origin=self.origin, seq=self.seq)


class Summary(OverlayFrame, frozen=True, kw_only=True, gc=False):
    """The known origins from `first` to `last`, both included; sorted by origin."""

    database: Database
    first: int
    last: int
    rows: tuple[SummaryRow, ...]

    def __post_init__(self) -> None:
        check_unsigned(32, first=self.first, last=self.last)
        check_type(Database, database=self.database)
        check_count("summary rows", self.rows, SUMMARY_ROWS_MAX)
        origins = [row.origin for row in self.rows]
        check_ascending("summary rows", origins)
        if self.first > self.last or (
            origins and not self.first <= origins[0] <= origins[-1] <= self.last
        ):
            raise UsageError(f"a summary's rows must lie in its range, {self.first} to {self.last}")
