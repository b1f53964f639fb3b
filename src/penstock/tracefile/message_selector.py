"""Finds the run and the message that a user names; every error says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.trace import records
from penstock.trace.records import Row
from penstock.tracefile.layout import unfinished_runs
from penstock.tracefile.reader import TraceReader
from penstock.tracefile.row_search import RowFilter

# Tables about single messages; the first with any rows defines which messages exist.
MESSAGE_TABLES: Final[tuple[type[Row], ...]] = (
    records.Publication,
    records.Expected,
    records.Arrival,
    records.Delivery,
    records.Hop,
    records.Drop,
    records.Loss,
    records.Request,
    records.Repair,
)
_RUN_PREFIX: Final = "run="
_TRACES: Final = "traces"
_NAMES_SHOWN_MAX: Final = 8
# More digits than any number in a trace has.
_NUMBER: Final = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class MessageSelector:
    """The full name of a message."""

    publisher: str
    epoch: int
    seq: int

    def __str__(self) -> str:
        return f"{self.publisher}:{self.epoch}:{self.seq}"

    @property
    def where(self) -> RowFilter:
        """The values of its rows, in every table."""
        return {"seq": self.seq, "epoch": self.epoch, "publisher": self.publisher}


def open_run(directory: Path, run: str | None) -> tuple[TraceReader, str]:
    """Opens the run named, the only run, or the run whose own directory is given."""
    if directory.is_dir() and directory.resolve().name.startswith(_RUN_PREFIX):
        own = directory.resolve().name.removeprefix(_RUN_PREFIX)
        if run not in {None, own}:
            raise UsageError(f"{directory} is run {own}, not {run}: leave --run out")
        return TraceReader(directory.resolve().parent), own
    if (directory / _TRACES).is_dir():
        # `lab run --keep` puts traces there, beside its result.
        directory = directory / _TRACES
    reader = TraceReader(directory)
    runs = reader.run_ids()
    if not runs:
        unfinished = unfinished_runs(directory)
        hint = f" (not finished: {abbreviate_names(unfinished)})" if unfinished else ""
        raise UsageError(
            f"no runs in {directory}{hint}: name a directory that has run=… directories,"
            " as runs write with --keep"
        )
    if run is None:
        if len(runs) > 1:
            raise UsageError(
                f"{directory} has {len(runs)} runs: choose one with --run,"
                f" of {abbreviate_names(runs)}"
            )
        return reader, runs[0]
    if run not in runs:
        raise UsageError(f"no run {run} in {directory}; {_suggestion(run, runs)}")
    return reader, run


def find_message(reader: TraceReader, run: str, text: str) -> MessageSelector:
    """Finds the message that `text` names: publisher:seq, or publisher:epoch:seq."""
    candidates = _parse_candidates(text)
    tables = [record for record in MESSAGE_TABLES if reader.has(record, run)]
    if not tables:
        names = ", ".join(record.TABLE for record in MESSAGE_TABLES)
        raise UsageError(f"run {run} recorded no table that tells of messages ({names})")
    for publisher, epoch, seq in candidates:
        for table in tables:
            epochs = _epochs(reader, run, table, publisher, epoch, seq)
            if len(epochs) > 1:
                full = " or ".join(
                    f"{publisher}:{each}:{seq}" for each in epochs[:_NAMES_SHOWN_MAX]
                )
                raise UsageError(
                    f"{publisher} had a message {seq} in {len(epochs)} epochs: write {full}"
                )
            if epochs:
                return MessageSelector(publisher, epochs[0], seq)
    raise UsageError(_not_found_text(reader, run, tables, candidates))


def _epochs(
    reader: TraceReader, run: str, table: type[Row], publisher: str, epoch: int | None, seq: int
) -> list[int]:
    where: dict[str, str | int | range] = {"seq": seq, "publisher": publisher}
    if epoch is not None:
        where["epoch"] = epoch
    found: set[int] = set()
    for piece in reader.select_pieces(table, run, where=where):
        found.update(piece["epoch"].unique().to_pylist())
    return sorted(found)


def check_subscriber(reader: TraceReader, run: str, name: str) -> None:
    """Raises `UsageError` for an unknown subscriber; one that got nothing is known."""
    known: set[str] = set()
    has_tables = False
    for record in (records.Expected, records.Arrival, records.Delivery, records.Loss):
        if reader.has(record, run):
            has_tables = True
            found = reader.names(record, "subscriber", run)
            if name in found:
                return
            known.update(found)
    if has_tables:
        raise UsageError(f"no subscriber {name} in run {run}; {_suggestion(name, sorted(known))}")


def abbreviate_names(names: Sequence[str], shown_max: int | None = _NAMES_SHOWN_MAX) -> str:
    """The first `shown_max` names, with an ellipsis if there are more."""
    return ", ".join(names[:shown_max]) + (
        ", …" if shown_max is not None and len(names) > shown_max else ""
    )


def _parse_candidates(text: str) -> list[tuple[str, int | None, int]]:
    """Possible readings of the text; a publisher's name may contain colons."""
    name, _, seq = text.rpartition(":")
    if not name or not _NUMBER.fullmatch(seq):
        raise UsageError(
            f"a message is named publisher:seq or publisher:epoch:seq, as in p3:17, not {text!r}"
        )
    shorter, _, epoch = name.rpartition(":")
    candidates: list[tuple[str, int | None, int]] = [(name, None, int(seq))]
    if shorter and _NUMBER.fullmatch(epoch):
        candidates.insert(0, (shorter, int(epoch), int(seq)))
    return candidates


def _not_found_text(
    reader: TraceReader,
    run: str,
    tables: list[type[Row]],
    candidates: list[tuple[str, int | None, int]],
) -> str:
    table, publishers = tables[0], list[str]()
    for table in tables:
        if publishers := reader.names(table, "publisher", run):
            break
    for publisher, epoch, seq in candidates:
        if publisher in publishers:
            seq_ranges = _seq_ranges(reader, run, table, publisher)
            has = "; ".join(
                f"epoch {each} has {low}..{high}"
                for each, (low, high) in sorted(seq_ranges.items())
            )
            what = seq if epoch is None else f"{seq} in epoch {epoch}"
            return f"{publisher} has no message {what} in run {run}: {has or 'it has none'}"
    return (
        f"no publisher {candidates[0][0]} in run {run}; {_suggestion(candidates[0][0], publishers)}"
    )


def _seq_ranges(
    reader: TraceReader, run: str, table: type[Row], publisher: str
) -> dict[int, tuple[int, int]]:
    """The lowest and the highest sequence number of each epoch."""
    seq_ranges: dict[int, tuple[int, int]] = {}
    for piece in reader.select_pieces(table, run, where={"publisher": publisher}):
        for epoch, seq in zip(piece["epoch"].to_pylist(), piece["seq"].to_pylist(), strict=True):
            # Messages that were not sent have no sequence number.
            if seq is not None:
                low, high = seq_ranges.get(epoch, (seq, seq))
                seq_ranges[epoch] = min(low, seq), max(high, seq)
    return seq_ranges


def _suggestion(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=3)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"there are {abbreviate_names(known)}" if known else "there are none"
