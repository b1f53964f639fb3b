"""How symbols are protected on their way: encrypted for those who share a secret, or checked."""

from __future__ import annotations

from struct import Struct
from typing import Final, Protocol
from zlib import crc32

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from penstock.wire.codec.cast.header import PLACE, PLACE_AND_STAMP
from penstock.wire.codec.cast.symbols import CHECKSUM_BYTES, TAG_BYTES

_CHECKSUM: Final = Struct(">I")
_NONCE_REST: Final = bytes(4)
# The shortest thing that is a header and a tag.
_TAG_ERRORS: Final = (InvalidTag, ValueError)


class SymbolSealing(Protocol):
    """Protects symbols; a header is what is in front of one, encoded."""

    @property
    def tag_bytes(self) -> int:
        """Behind each symbol."""

    def seal(self, header: bytes, payload: bytes, /) -> bytes:
        """The payload as it is sent, with its tag."""

    def open(self, datagram: bytes, sealed: bytes, /) -> bytes | None:
        """The payload; None if it is not what was sealed. A header stands at the beginning."""


class PlainSymbols:
    """A checksum finds damage, and nothing else."""

    tag_bytes: Final = CHECKSUM_BYTES

    @staticmethod
    def seal(header: bytes, payload: bytes) -> bytes:
        """The payload and its checksum."""
        return payload + _CHECKSUM.pack(crc32(payload, crc32(header[PLACE])))

    @staticmethod
    def open(datagram: bytes, sealed: bytes) -> bytes | None:
        """The payload, if the checksum is right."""
        payload = sealed[:-CHECKSUM_BYTES]
        checksum = crc32(payload, crc32(datagram[PLACE]))
        return payload if checksum == int.from_bytes(sealed[-CHECKSUM_BYTES:]) else None


class UnreadableSymbols:
    """Before FIRST, nobody knows by which key: what comes counts as lost."""

    tag_bytes: Final = TAG_BYTES

    @staticmethod
    def seal(_header: bytes, _payload: bytes) -> bytes:
        """Nobody sends before FIRST."""
        raise AssertionError("symbols without a key")

    @staticmethod
    def open(_datagram: bytes, _sealed: bytes) -> bytes | None:
        """Nothing."""
        return None


class EncryptedSymbols:
    """AES-256-GCM. No symbol number of a generation is sealed twice under one key."""

    tag_bytes: Final = TAG_BYTES

    def __init__(self, group_key: bytes, object_id: bytes) -> None:
        self._cipher: Final = AESGCM(group_key)
        self._object_id: Final = object_id

    def seal(self, header: bytes, payload: bytes) -> bytes:
        """Encrypted, with its tag."""
        nonce = header[PLACE] + _NONCE_REST
        return self._cipher.encrypt(nonce, payload, self._object_id + header[PLACE_AND_STAMP])

    def open(self, datagram: bytes, sealed: bytes) -> bytes | None:
        """Decrypted, if the key is right and nothing was changed."""
        place = datagram[PLACE_AND_STAMP]
        nonce = place[:8] + _NONCE_REST
        try:
            return self._cipher.decrypt(nonce, sealed, self._object_id + place)
        except _TAG_ERRORS:
            return None
