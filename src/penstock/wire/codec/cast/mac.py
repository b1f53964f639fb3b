"""The MAC that every frame but DATA ends with.

Routers lower `ttl` on the way, so that a MAC covers every byte of its frame but that one.
"""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest
from typing import Final, Protocol

from penstock.kernel.errors import PeerError, UsageError

MAC_BYTES: Final = 16
KEY_BYTES_MAX: Final = blake2b.MAX_KEY_SIZE


class Sealer(Protocol):
    """Makes and checks MACs under one key."""

    def seal(self, data: bytes, /) -> bytes:
        """The MAC of these bytes."""

    def verify(self, data: bytes, mac: bytes, /) -> None:
        """Raises `PeerError` if this is not their MAC."""


class Blake2Sealer:
    """BLAKE2b-128 under the key of a domain; without a key it only finds damage."""

    __slots__ = ("_keyed",)

    def __init__(self, key: bytes) -> None:
        if len(key) > KEY_BYTES_MAX:
            raise UsageError(f"a key has at most {KEY_BYTES_MAX} bytes, not {len(key)}")
        self._keyed: Final = blake2b(digest_size=MAC_BYTES, key=key)

    def seal(self, data: bytes, /) -> bytes:
        """The MAC of these bytes."""
        keyed = self._keyed.copy()
        keyed.update(data)
        return keyed.digest()

    def verify(self, data: bytes, mac: bytes, /) -> None:
        """Raises `PeerError` if this is not their MAC."""
        if not compare_digest(self.seal(data), mac):
            raise PeerError("the MAC is wrong: the frame is damaged, or its sender has another key")
