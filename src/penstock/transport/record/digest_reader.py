"""Reads the entries of a digest; does not know the filters that they are tested against."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from penstock.content.tags import Encoder
from penstock.kernel.instant import Duration
from penstock.transport.record.reader import EntryReader
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.record import FingerprintEntry, PublicationRecord
from penstock.wire.quantise import delta_ns


class DigestEntry(NamedTuple):
    """One entry of a digest."""

    # Time from the sending of its message to that of the digest.
    sent_before_ns: Duration
    packed: bytes
    reader: EntryReader
    # None if it is empty or cannot be read.
    entry: FingerprintEntry | None


def read_digest(digest: Digest, encoder: Encoder) -> tuple[DigestEntry, ...]:
    """Return a digest's entries, newest first."""
    record = digest.record
    return _read_entries(
        digest.base, record.count, record.data, digest.sent_before_100us, encoder.fingerprint_bits
    )


# A digest reaches many endpoints; those in the same process share one decoding.
@lru_cache(maxsize=128)
def _read_entries(
    base: bytes, count: int, data: bytes, newest_before_100us: int, width_bits: int
) -> tuple[DigestEntry, ...]:
    standalone_reader = EntryReader((), (), width_bits)
    newest_before_ns = delta_ns(newest_before_100us)
    newest = standalone_reader.read(base) if base else None
    if newest is None:
        return ()
    reader = EntryReader(newest.presence, newest.values, width_bits)
    record = PublicationRecord(count, data)
    return (
        DigestEntry(newest_before_ns, base, standalone_reader, newest),
        *(
            DigestEntry(
                newest_before_ns + delta_ns(record.sent_before_100us(i)),
                packed,
                reader,
                reader.read(packed),
            )
            for i, packed in enumerate(record.packed_entries(count))
        ),
    )
