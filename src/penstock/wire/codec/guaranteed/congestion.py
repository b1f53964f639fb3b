"""LIVE, DCQ, UCA and REPORT on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.guaranteed.fields import read_text, size_text, write_text
from penstock.wire.codec.reader import Reader, check_flags, decode_flag
from penstock.wire.frames.guaranteed.base import NAME_BYTES_MAX
from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionQuery,
    CongestionReport,
    Live,
    Progress,
)

_LIVE: Final = Struct(">QB")
_QUERY: Final = Struct(">QQQ")
_ALERT: Final = Struct(">QQddQ")
_REPORT: Final = Struct(">QQB")
_PROGRESS: Final = Struct(">QQQQ")
_NORMAL: Final = 1
_RECOVERING: Final = 2


class LiveCodec:
    """LIVE: new messages, or HORIZON alone.

    +--------+----+
    | pubend | on |
    +--------+----+
      8        1
    """

    BYTES_MAX: Final = BODY_OFFSET + _LIVE.size

    @staticmethod
    def size(_frame: Live) -> int:
        """The size of the body in bytes."""
        return _LIVE.size

    @staticmethod
    def write(frame: Live) -> bytes:
        """Encodes the body."""
        return _LIVE.pack(frame.pubend, frame.is_on)

    @staticmethod
    def read(data: bytes) -> Live:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, is_on = cursor.unpack(_LIVE)
        cursor.expect_end()
        return Live(pubend=pubend, is_on=decode_flag("on", is_on))


class QueryCodec:
    """DCQ: how are you?

    +--------+-----+--------+
    | pubend | seq | newest |
    +--------+-----+--------+
      8        8     8
    """

    BYTES_MAX: Final = BODY_OFFSET + _QUERY.size

    @staticmethod
    def size(_frame: CongestionQuery) -> int:
        """The size of the body in bytes."""
        return _QUERY.size

    @staticmethod
    def write(frame: CongestionQuery) -> bytes:
        """Encodes the body."""
        return _QUERY.pack(frame.pubend, frame.seq, frame.newest)

    @staticmethod
    def read(data: bytes) -> CongestionQuery:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, seq, newest = cursor.unpack(_QUERY)
        cursor.expect_end()
        return CongestionQuery(pubend=pubend, seq=seq, newest=newest)


class AlertCodec:
    """UCA: the slowest hosts that complain; both rates are 64-bit floating point numbers.

    +--------+-----+-------------+-----------------+----------+
    | pubend | seq | normal rate | recovering rate | position |
    +--------+-----+-------------+-----------------+----------+
      8        8     8             8                 8
    """

    BYTES_MAX: Final = BODY_OFFSET + _ALERT.size

    @staticmethod
    def size(_frame: CongestionAlert) -> int:
        """The size of the body in bytes."""
        return _ALERT.size

    @staticmethod
    def write(frame: CongestionAlert) -> bytes:
        """Encodes the body."""
        return _ALERT.pack(
            frame.pubend, frame.seq, frame.normal_rate, frame.recovering_rate, frame.position
        )

    @staticmethod
    def read(data: bytes) -> CongestionAlert:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, seq, normal_rate, recovering_rate, position = cursor.unpack(_ALERT)
        cursor.expect_end()
        return CongestionAlert(
            pubend=pubend,
            seq=seq,
            normal_rate=normal_rate,
            recovering_rate=recovering_rate,
            position=position,
        )


class ReportCodec:
    """REPORT: how hosts are; `which` says who follows, the lowest bit who keeps up.

    +--------+-----+-------+         +-------+------+------------+-------------+-------+------+
    | pubend | seq | which |  each   | start | stop | elapsed ns | over lag ns | bytes | host |
    +--------+-----+-------+  host:  +-------+------+------------+-------------+-------+------+
      8        8     1                 8       8      8            8             1       bytes
    """

    BYTES_MAX: Final = BODY_OFFSET + _REPORT.size + 2 * (_PROGRESS.size + 1 + NAME_BYTES_MAX)

    @staticmethod
    def size(frame: CongestionReport) -> int:
        """The size of the body in bytes."""
        return _REPORT.size + _size_progress(frame.normal) + _size_progress(frame.recovering)

    @staticmethod
    def write(frame: CongestionReport) -> bytes:
        """Encodes the body."""
        which = _NORMAL * (frame.normal is not None) + _RECOVERING * (frame.recovering is not None)
        parts = [_REPORT.pack(frame.pubend, frame.seq, which)]
        for progress in (frame.normal, frame.recovering):
            if progress is not None:
                times = (progress.elapsed_ns, progress.over_lag_ns)
                parts += (
                    _PROGRESS.pack(progress.start, progress.stop, *times),
                    write_text(progress.host),
                )
        return b"".join(parts)

    @staticmethod
    def read(data: bytes) -> CongestionReport:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, seq, which = cursor.unpack(_REPORT)
        check_flags(which, _NORMAL | _RECOVERING)
        normal = _read_progress(cursor) if which & _NORMAL else None
        recovering = _read_progress(cursor) if which & _RECOVERING else None
        cursor.expect_end()
        return CongestionReport(pubend=pubend, seq=seq, normal=normal, recovering=recovering)


def _size_progress(progress: Progress | None) -> int:
    return 0 if progress is None else _PROGRESS.size + size_text(progress.host)


def _read_progress(cursor: Reader) -> Progress:
    start, stop, elapsed_ns, over_lag_ns = cursor.unpack(_PROGRESS)
    return Progress(
        host=read_text(cursor),
        start=start,
        stop=stop,
        elapsed_ns=elapsed_ns,
        over_lag_ns=over_lag_ns,
    )
