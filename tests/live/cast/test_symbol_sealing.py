"""Symbols are opened by those who share the secret, where they belong, and unchanged."""

from __future__ import annotations

import pytest

from penstock.live.cast.cast_keys import CastKeys
from penstock.live.cast.symbol_sealing import EncryptedSymbols, PlainSymbols, SymbolSealing

HEADER = bytes(range(68))
PAYLOAD = b"p" * 1_280
OBJECT_ID = b"o" * 16


def encrypted(secret: bytes = b"secret", epoch: int = 7) -> EncryptedSymbols:
    return EncryptedSymbols(CastKeys(secret).group_key(OBJECT_ID, epoch), OBJECT_ID)


@pytest.mark.parametrize("sealing", [PlainSymbols(), encrypted()])
def test_what_was_sealed_is_opened(sealing: SymbolSealing) -> None:
    sealed = sealing.seal(HEADER, PAYLOAD)
    assert len(sealed) == len(PAYLOAD) + sealing.tag_bytes
    assert sealing.open(HEADER, sealed) == PAYLOAD


@pytest.mark.parametrize("sealing", [PlainSymbols(), encrypted()])
@pytest.mark.parametrize("place", [56, 57, 60, 63])
def test_a_symbol_belongs_to_one_place(sealing: SymbolSealing, place: int) -> None:
    sealed = sealing.seal(HEADER, PAYLOAD)
    other = bytearray(HEADER)
    other[place] ^= 1
    assert sealing.open(bytes(other), sealed) is None


@pytest.mark.parametrize("place", [3, 5, 52, 54])
def test_what_routers_change_does_not_matter(place: int) -> None:
    sealed = encrypted().seal(HEADER, PAYLOAD)
    other = bytearray(HEADER)
    other[place] ^= 1
    assert encrypted().open(bytes(other), sealed) == PAYLOAD


@pytest.mark.parametrize("sealing", [PlainSymbols(), encrypted()])
def test_damage_is_found(sealing: SymbolSealing) -> None:
    sealed = bytearray(sealing.seal(HEADER, PAYLOAD))
    sealed[700] ^= 1
    assert sealing.open(HEADER, bytes(sealed)) is None


def test_another_secret_or_start_opens_nothing() -> None:
    sealed = encrypted().seal(HEADER, PAYLOAD)
    assert PAYLOAD not in sealed
    assert encrypted(b"other").open(HEADER, sealed) is None
    assert encrypted(epoch=8).open(HEADER, sealed) is None


def test_a_domain_tells_nothing_of_its_key() -> None:
    one, other = CastKeys(b"one"), CastKeys(b"other")
    assert one.domain() != other.domain()
    assert one.domain() not in one.domain_key()
    assert CastKeys(b"").domain_key() == b""
