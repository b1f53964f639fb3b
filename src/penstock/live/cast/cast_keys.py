"""What follows from the secret of a cast: the keys of its frames and of its symbols."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from penstock.live.cast.symbol_sealing import EncryptedSymbols, PlainSymbols, SymbolSealing
from penstock.wire.frames.cast.base import DOMAIN_BYTES

KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class CastKeys:
    """Of one secret; empty: of none, and nothing is kept from anybody."""

    secret: bytes

    @property
    def are_plain(self) -> bool:
        """Whether there is no secret."""
        return not self.secret

    def domain_key(self) -> bytes:
        """The key of all frames but DATA."""
        return b"" if self.are_plain else self._derived(b"domain")

    def domain(self) -> bytes:
        """Who shares the secret, without telling it: nodes of other domains are not heard."""
        return blake2b(self.domain_key(), digest_size=DOMAIN_BYTES).digest()

    def group_key(self, object_id: bytes, epoch: int) -> bytes:
        """The key of the symbols of one transfer: a publisher that starts again has another."""
        return self._derived(b"group" + object_id + epoch.to_bytes(4, "big"))

    def sealing_of(self, object_id: bytes, epoch: int) -> SymbolSealing:
        """How the symbols of a transfer are protected."""
        if self.are_plain:
            return PlainSymbols()
        return EncryptedSymbols(self.group_key(object_id, epoch), object_id)

    def _derived(self, info: bytes) -> bytes:
        return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(self.secret)


NO_KEYS: Final = CastKeys(b"")
