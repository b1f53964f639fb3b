"""The log of one pubend, as a driver uses it.

Opening, appending, fetching, trimming and closing may be called from one thread, or fetches from
others beside it. What happens is told through `LogEvents` of the writer.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import Final

from penstock.guaranteed.log_record import Counted, Fetched, RecoveredLog
from penstock.live.log.block import Entry
from penstock.live.log.file_system import Closeable
from penstock.live.log.index import LogIndex
from penstock.live.log.lease_file import LeaseFile
from penstock.live.log.metadata import Metadata, TrimMark, save_metadata
from penstock.live.log.reader import LogReader
from penstock.live.log.recovery import open_log
from penstock.live.log.segment import Segment
from penstock.live.log.tail import LogTail
from penstock.live.log.writer import LogWriter


class PubendLog:
    """Durable records in one directory; `name` is what events call it."""

    def __init__(self, name: str, directory: str, writer: LogWriter) -> None:
        self.name: Final = name
        self.directory: Final = directory
        self._writer: Final = writer
        self._fs: Final = writer.fs
        self._trim_upto = 0
        self._metadata = Metadata()
        self._index: LogIndex
        self._tail: LogTail
        self._reader: LogReader
        self._lease_file: LeaseFile
        self._lock: Closeable | None = None

    def open(self) -> RecoveredLog:
        """Opens the log, or creates it; its directory, not those above, is created too."""
        if self._fs.make_directory(self.directory):
            parent = self.directory.rstrip("/").rpartition("/")[0]
            self._fs.sync_directory(parent or ("/" if self.directory.startswith("/") else "."))
        self._lock = self._fs.lock(self.directory)
        try:
            opened = open_log(self._fs, self.directory)
        except BaseException:
            self._lock.close()
            raise
        self._metadata = opened.metadata
        self._lease_file = opened.lease_file
        self._index = LogIndex(opened.segments)
        recovered = opened.recovered
        self._tail = LogTail(
            self.name,
            self._fs,
            self.directory,
            self._index,
            opened.lease_file,
            next_number=recovered.next_number,
            lease=recovered.lease,
            since_snapshot=len(recovered.since_snapshot),
            sizes=self._writer.sizes,
            sync_times=self._writer.sync_times,
            events=self._writer.events,
            wake=self._writer.wake,
            prepare=self._ask_for_segment,
            on_snapshot=self._ask_for_trim,
        )
        self._reader = LogReader(
            self._fs,
            self.directory,
            self._index,
            metadata=lambda: self._metadata,
            unsynced_tick=self._tail.unsynced_tick,
        )
        self._ask_for_segment()
        return recovered

    def append(self, number: int, record: Entry | None, lease: int) -> None:
        """Writes a record and the lease; None writes the lease alone. Told by `on_synced`."""
        self._tail.append(number, () if record is None else (record,), lease)

    def append_many(self, upto: int, records: Sequence[Entry], lease: int) -> None:
        """Writes records, of which the last has the number `upto`, as one append of each would."""
        self._tail.append(upto, records, lease)

    def fetch(self, start: int, stop: int, bytes_max: int) -> Fetched:
        """Messages with ticks from `start` up to `stop`; in any thread.

        Gaps are given whole, also where they reach beyond `stop`.
        """
        return self._reader.fetch(start, stop, bytes_max)

    def count(self, after: int, upto: int) -> int:
        """How many messages have ticks in (after, upto]; at the most, where it is trimmed."""
        return self._reader.count(after, upto)

    def counted(self, after: int, upto: int) -> Counted:
        """As `count`, and when the oldest of these messages was published; in any thread."""
        messages = self.count(after, upto)
        if not messages:
            return Counted(0)
        # One record, whatever its size.
        found = self.fetch(after + 1, upto + 1, 1)
        return Counted(messages, found.records[0].published_ns if found.records else 0)

    def trim(self, upto: int) -> None:
        """Removes segments whose messages all have ticks up to and including this one.

        Done by the housekeeper. What is behind the last snapshot is kept, since a start needs it;
        it goes as soon as there is a later snapshot.
        """
        self._trim_upto = max(self._trim_upto, upto)
        self._ask_for_trim()

    @property
    def trimmed_upto(self) -> int:
        """Nothing is left up to and including this tick; 0 if nothing was removed."""
        return self._metadata.trimmed_upto

    @property
    def first_tick(self) -> int | None:
        """The tick of the oldest message that is left; None if there is none."""
        return self._index.first_tick

    @property
    def size_bytes(self) -> int:
        """What it takes on disk, without the room that is prepared ahead."""
        with self._index.lock:
            return sum(segment.end for segment in self._index.segments)

    @property
    def index_entries(self) -> int:
        """How many entries its index has in memory."""
        with self._index.lock:
            return sum(len(segment.index) for segment in self._index.segments)

    def close(self) -> None:
        """Returns when all that was appended is synced, if the disk can; then closes the files."""
        if self._lock is None:
            return
        done = Event()
        self._writer.wake(lambda: self._close_files(done))
        self._writer.write_here()
        if self._writer.has_threads:
            # A writer that has failed answers nothing any more.
            while not done.wait(0.1) and not self._writer.has_failed:
                pass
        else:
            self._writer.run_pending()
        self._lock.close()
        self._lock = None

    def _close_files(self, done: Event) -> None:
        self._tail.write()
        if self._tail.is_starving and not self._writer.housekeeper.is_full(self._tail):
            # Behind the segment that is being prepared.
            self._writer.keep(lambda: self._writer.wake(lambda: self._close_files(done)))
            return
        self._tail.close()
        self._lease_file.close()

        def forget() -> None:
            self._writer.housekeeper.forget(self._tail)
            done.set()

        self._writer.keep(forget)

    def _ask_for_segment(self) -> None:
        self._writer.keep(lambda: self._writer.housekeeper.prepare(self._tail, self.directory))

    def _ask_for_trim(self) -> None:
        if self._trim_upto > self._metadata.trimmed_upto:
            self._writer.keep(lambda: self._writer.housekeeper.trim(self._remove_segments))

    def _remove_segments(self) -> bool:
        """Says durably that they are trimmed, then removes them: never the other way round."""
        segments = self._removable()
        if not segments:
            return False
        marks = [TrimMark(s.last_tick, s.stop_number, s.stop_message) for s in segments]
        metadata = self._metadata.with_trims(marks)
        save_metadata(self._fs, self.directory, metadata)
        self._metadata = metadata
        with self._index.lock:
            del self._index.segments[: len(segments)]
        # Should one of these names survive a crash, the next start removes it.
        for segment in segments:
            self._fs.unlink(f"{self.directory}/{segment.name}")
        return True

    def _removable(self) -> list[Segment]:
        with self._index.lock:
            segments = self._index.segments
            with_snapshot = [n for n, s in enumerate(segments) if s.snapshot_offset]
            kept_from = with_snapshot[-1] if with_snapshot else 0
            removable = []
            for segment in segments[:kept_from]:
                if segment.last_tick > self._trim_upto:
                    break
                removable.append(segment)
            return removable
