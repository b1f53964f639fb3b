"""HELLO, BEACON, PROBE and PROBE_ANSWER on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.cast.framing import (
    ORIGIN_BYTES,
    SHORT_FRAMING_BYTES,
    read_origin,
    write_origin,
)
from penstock.wire.codec.cast.symbols import DATA_BYTES_MAX
from penstock.wire.codec.cast.topology import ALL_ROLES
from penstock.wire.codec.guaranteed.fields import read_text, size_text, write_text
from penstock.wire.codec.reader import U8, U16, Reader, check_flags, decode_flag
from penstock.wire.frames.cast.base import ADDRESS_BYTES_MAX, DOMAIN_BYTES, SCOPES_MAX
from penstock.wire.frames.cast.neighbours import Beacon, HeardSize, Hello, Probe, ProbeAnswer
from penstock.wire.frames.cast.topology import CastRole

_HELLO: Final = Struct(f">{DOMAIN_BYTES}sIBB")
_BEACON: Final = Struct(f">I{DOMAIN_BYTES}sIIBB")
_SCOPE_BYTES: Final = 8
_PROBE_ANSWER: Final = Struct(">HHIB")
_AROUND_BYTES: Final = SHORT_FRAMING_BYTES + ORIGIN_BYTES


class HelloCodec:
    """HELLO: every second on every link.

    +--------+-------+-----------------+-----------+--------+
    | domain | heard | hears multicast | is router | origin |
    +--------+-------+-----------------+-----------+--------+
      8        4       1                 1           12
    """

    BYTES_MAX: Final = _AROUND_BYTES + _HELLO.size

    @staticmethod
    def size(_frame: Hello) -> int:
        """The size of the fields in bytes."""
        return _HELLO.size + ORIGIN_BYTES

    @staticmethod
    def write(frame: Hello) -> bytes:
        """Encodes the fields."""
        fields = _HELLO.pack(frame.domain, frame.heard, frame.hears_multicast, frame.is_router)
        return fields + write_origin(frame.origin)

    @staticmethod
    def read(cursor: Reader) -> Hello:
        """Decodes the fields."""
        fields = _HELLO.unpack(cursor.read_bytes(_HELLO.size))
        domain, heard, hears_multicast, is_router = fields
        return Hello(
            domain=domain,
            heard=heard,
            hears_multicast=decode_flag("hears multicast", hears_multicast),
            is_router=decode_flag("is router", is_router),
            origin=read_origin(cursor),
        )


class BeaconCodec:
    """BEACON: where a controller is.

    +------------+--------+-----------+--------+------+-------+-------+---------+
    | controller | domain | tag epoch | number | hops | roles | bytes | address |
    +------------+--------+-----------+--------+------+-------+-------+---------+
      4            8        4           4        1      1       1       bytes
    +-------+--------+--------+
    | count | scopes | origin |
    +-------+--------+--------+
      1       8 each   12
    """

    BYTES_MAX: Final = (
        _AROUND_BYTES
        + _BEACON.size
        + (U8.size + ADDRESS_BYTES_MAX)
        + (U8.size + _SCOPE_BYTES * SCOPES_MAX)
    )

    @staticmethod
    def size(frame: Beacon) -> int:
        """The size of the fields in bytes."""
        scopes_bytes = U8.size + _SCOPE_BYTES * len(frame.scopes)
        return _BEACON.size + size_text(frame.address) + scopes_bytes + ORIGIN_BYTES

    @staticmethod
    def write(frame: Beacon) -> bytes:
        """Encodes the fields."""
        head = _BEACON.pack(
            frame.controller,
            frame.domain,
            frame.tag_epoch,
            frame.number,
            frame.hops,
            frame.roles,
        )
        count = len(frame.scopes)
        scopes = Struct(f">B{count}Q").pack(count, *frame.scopes)
        return b"".join((head, write_text(frame.address), scopes, write_origin(frame.origin)))

    @staticmethod
    def read(cursor: Reader) -> Beacon:
        """Decodes the fields."""
        fields = _BEACON.unpack(cursor.read_bytes(_BEACON.size))
        controller, domain, tag_epoch, number, hops, roles = fields
        return Beacon(
            controller=controller,
            domain=domain,
            tag_epoch=tag_epoch,
            number=number,
            hops=hops,
            roles=CastRole(check_flags(roles, ALL_ROLES)),
            address=read_text(cursor),
            scopes=cursor.unpack(Struct(f">{cursor.unpack_one(U8)}Q")),
            origin=read_origin(cursor),
        )


class ProbeCodec:
    """PROBE: a frame of `size` bytes, of which the padding is zero.

    +------+---------+--------+
    | size | padding | origin |
    +------+---------+--------+
      2      ...       12
    """

    # It finds out which symbols fit, the largest included.
    BYTES_MAX: Final = DATA_BYTES_MAX
    BYTES_MIN: Final = _AROUND_BYTES + U16.size

    @staticmethod
    def size(frame: Probe) -> int:
        """The size of the fields in bytes."""
        if frame.size_bytes < ProbeCodec.BYTES_MIN:
            raise UsageError(
                f"a probe has at least {ProbeCodec.BYTES_MIN} bytes, not {frame.size_bytes}"
            )
        return frame.size_bytes - SHORT_FRAMING_BYTES

    @staticmethod
    def write(frame: Probe) -> bytes:
        """Encodes the fields."""
        padding_bytes = ProbeCodec.size(frame) - U16.size - ORIGIN_BYTES
        return b"".join(
            (U16.pack(frame.size_bytes), bytes(padding_bytes), write_origin(frame.origin))
        )

    @staticmethod
    def read(cursor: Reader) -> Probe:
        """Decodes the fields."""
        size_bytes = cursor.unpack_one(U16)
        if size_bytes < ProbeCodec.BYTES_MIN:
            raise PeerError(f"{size_bytes} bytes are less than a probe has")
        if any(cursor.read_bytes(size_bytes - ProbeCodec.BYTES_MIN)):
            raise PeerError("the padding is not zero")
        return Probe(size_bytes=size_bytes, origin=read_origin(cursor))


class ProbeAnswerCodec:
    """PROBE_ANSWER: what a host heard of a probe.

    +-------+------+-----------+---------+--------+------------------+--------+
    | bytes | name | multicast | unicast | buffer | has segmentation | origin |
    +-------+------+-----------+---------+--------+------------------+--------+
      1       bytes  2           2         4        1                  12
    """

    BYTES_MAX: Final = _AROUND_BYTES + (U8.size + ADDRESS_BYTES_MAX) + _PROBE_ANSWER.size

    @staticmethod
    def size(frame: ProbeAnswer) -> int:
        """The size of the fields in bytes."""
        return size_text(frame.name) + _PROBE_ANSWER.size + ORIGIN_BYTES

    @staticmethod
    def write(frame: ProbeAnswer) -> bytes:
        """Encodes the fields."""
        heard = frame.heard
        fields = _PROBE_ANSWER.pack(
            heard.multicast_bytes, heard.unicast_bytes, frame.buffer_bytes, frame.has_segmentation
        )
        return b"".join((write_text(frame.name), fields, write_origin(frame.origin)))

    @staticmethod
    def read(cursor: Reader) -> ProbeAnswer:
        """Decodes the fields."""
        name = read_text(cursor)
        multicast_bytes, unicast_bytes, buffer_bytes, has_segmentation = cursor.unpack(
            _PROBE_ANSWER
        )
        return ProbeAnswer(
            name=name,
            heard=HeardSize(multicast_bytes=multicast_bytes, unicast_bytes=unicast_bytes),
            buffer_bytes=buffer_bytes,
            has_segmentation=decode_flag("has segmentation", has_segmentation),
            origin=read_origin(cursor),
        )
