"""FIRST, END, FIRST_REQ and STOP: the frame of a transfer around its DATA."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from penstock.wire.frames.base import check_count, check_unsigned
from penstock.wire.frames.cast.base import (
    FAILED_MAX,
    HASH_BYTES,
    OBJECT_ID_BYTES,
    STREAM_BLOCKS_MAX,
    TEXT_BYTES_MAX,
    CastBody,
    check_choice,
    check_length,
    check_links,
)
from penstock.wire.frames.cast.membership import ObjectKind
from penstock.wire.frames.texts import check_text


class RepairChoice(IntEnum):
    """How a publisher sends again what was lost."""

    # The symbols themselves where that is little and all of it was listed, else repair symbols.
    AUTO = 0
    # The symbols themselves wherever all of it was listed.
    EXACT = 1
    # Repair symbols always: nobody need list anything.
    CODED = 2


class First(CastBody, frozen=True, kw_only=True, gc=False):
    """Opens a transfer, or tells one end what it missed; each relay puts its own way back."""

    up_choice: int
    up_links: int
    # Hops that the way back has at most.
    up_ttl: int
    epoch: int
    object_id: bytes
    kind: ObjectKind
    repair: RepairChoice = RepairChoice.AUTO
    length_bytes: int
    symbol_bytes: int
    blocks: int
    # Source symbols of a block; of the last one that is short, as many as it needs.
    block_symbols: int
    manifest_bytes: int
    # How long the sender of this frame waits for reports, in 100 µs.
    hold_100us: int
    public_key: bytes = b""
    signature: bytes = b""

    def __post_init__(self) -> None:
        check_choice(up_choice=self.up_choice)
        check_links(self.up_links)
        check_unsigned(8, up_ttl=self.up_ttl)
        check_unsigned(32, epoch=self.epoch, manifest_bytes=self.manifest_bytes)
        check_length("an object id", self.object_id, OBJECT_ID_BYTES)
        check_unsigned(64, length_bytes=self.length_bytes)
        check_unsigned(
            16,
            symbol_bytes=self.symbol_bytes,
            block_symbols=self.block_symbols,
            hold_100us=self.hold_100us,
        )
        check_unsigned(24, blocks=self.blocks)
        check_length("a public key", self.public_key, 0, 32)
        check_length("a signature", self.signature, *([64] if self.public_key else [0]))


class ClosedBlock(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A block of a stream that has all its symbols."""

    block: int
    symbols: int
    digest: bytes
    signature: bytes = b""

    def __post_init__(self) -> None:
        check_unsigned(24, block=self.block)
        check_unsigned(16, symbols=self.symbols)
        check_length("the hash of a block", self.digest, HASH_BYTES)
        check_length("a signature", self.signature, 0, 64)


class End(CastBody, frozen=True, kw_only=True, gc=False):
    """All of a generation has been sent: say what is missing."""

    first_block: int
    last_block: int
    # How long the sender of this frame waits for reports, in 100 µs.
    hold_100us: int
    closed: tuple[ClosedBlock, ...] = ()

    def __post_init__(self) -> None:
        check_unsigned(24, first_block=self.first_block, last_block=self.last_block)
        check_unsigned(16, hold_100us=self.hold_100us)
        check_count("blocks", self.closed, STREAM_BLOCKS_MAX)


class FirstRequest(CastBody, frozen=True, kw_only=True, gc=False):
    """An end that missed FIRST, or sees a plan that it does not know, asks its head for it."""

    child: int

    def __post_init__(self) -> None:
        check_unsigned(32, child=self.child)


class Stop(CastBody, frozen=True, kw_only=True, gc=False):
    """The transfer is over; the reason is empty when it is complete."""

    reason: str = ""
    done: int = 0
    failed: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_text("a reason", self.reason, TEXT_BYTES_MAX)
        check_unsigned(32, done=self.done)
        check_count("failed nodes", self.failed, FAILED_MAX)
        for node in self.failed:
            check_unsigned(32, node=node)
