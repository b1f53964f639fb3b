"""Compares the databases of two neighbours by sequence numbers.

A summary is also a request: its receiver sends what the sender lacks. A broker that missed an
update therefore sends a summary of that one origin.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.kernel.sequence import SEQ
from penstock.wire.frames.summary import Database, Summary, SummaryRow
from penstock.wire.limits import SUMMARY_ROWS_MAX

_ORIGIN_MAX: Final = 2**32 - 1


def summarise(database: Database, seqs: Mapping[int, int]) -> Iterator[Summary]:
    """Summarises a database in as many frames as needed; together they cover all origins."""
    origins = sorted(seqs)
    first = 0
    for start in range(0, max(1, len(origins)), SUMMARY_ROWS_MAX):
        part = origins[start : start + SUMMARY_ROWS_MAX]
        last = _ORIGIN_MAX if start + SUMMARY_ROWS_MAX >= len(origins) else part[-1]
        rows = tuple([SummaryRow(origin, seqs[origin]) for origin in part])
        yield Summary(database=database, first=first, last=last, rows=rows)
        first = last + 1


def request_origin(database: Database, origin: int, seq: int | None) -> Summary:
    """Requests the latest state of one origin, of which we have `seq` or nothing."""
    rows = () if seq is None else (SummaryRow(origin, seq),)
    return Summary(database=database, first=origin, last=origin, rows=rows)


def missing_at_peer(summary: Summary, seqs: Mapping[int, int]) -> list[int]:
    """The origins of which the sender of a summary has nothing, or an older state than ours."""
    theirs = {row.origin: row.seq for row in summary.rows}
    return [
        origin
        for origin, seq in seqs.items()
        if summary.first <= origin <= summary.last
        and (origin not in theirs or SEQ.is_newer(seq, theirs[origin]))
    ]
