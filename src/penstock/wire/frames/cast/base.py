"""The base class of what casts say, its bounds, and the names its frames share.

A *node* has a 32-bit id. An *item* is what is cast: a scope, and a name in it. A *block* is a part
of the object that is coded on its own, and a *symbol* a part of a block; symbols of the file itself
and repair symbols are numbered alike.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_unsigned

FILTER_BITS: Final = 248
FILTER_BYTES: Final = FILTER_BITS // 8
# Candidate tags of a link.
CHOICES: Final = 8
NAME_BYTES_MAX: Final = 64
ADDRESS_BYTES_MAX: Final = 255
# Of an item in full, such as images/lab-2/debian.img.
ITEM_BYTES_MAX: Final = 512
TEXT_BYTES_MAX: Final = 512
PORTS_MAX: Final = 48
SCOPES_MAX: Final = 16
SEGMENTS_MAX: Final = 16
ENDS_A_PAGE_MAX: Final = 30
PAGES_MAX: Final = 255
REPORT_PARTS_MAX: Final = 8
NEEDS_MAX: Final = 128
FAILED_MAX: Final = 32
RANGES_A_BLOCK_MAX: Final = 32
RANGES_BYTES_MAX: Final = 1_024
TRAIN_SYMBOLS_MAX: Final = 46
STREAM_BLOCKS_MAX: Final = 8
SECRET_BYTES: Final = 16
OBJECT_ID_BYTES: Final = 16
HASH_BYTES: Final = 32
DOMAIN_BYTES: Final = 8
# The last number of a block is that of the manifest.
MANIFEST_BLOCK: Final = 2**24 - 1
BLOCK_SYMBOLS_MAX: Final = 10_000


class CastFrame(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Any frame between two neighbours."""


class CastBody(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a packet carries behind its header."""


class Origin(NamedTuple):
    """Who sent a frame: its node, the number of that node's start, and of the frame in it."""

    node: int
    boot: int
    number: int


class Item(NamedTuple):
    """What is cast, as packets name it: hashes of its scope and of its name."""

    scope: int
    name: int


def check_item(item: Item) -> None:
    """Refuses hashes that do not fit."""
    if item.scope >> 64 or item.name >> 64:
        check_unsigned(64, scope=item.scope, name=item.name)


def check_links(*filters: int) -> None:
    """Refuses filters of more bits than a header has."""
    for links in filters:
        if links >> FILTER_BITS:
            check_unsigned(FILTER_BITS, links=links)


def check_choice(**choices: int) -> None:
    """Refuses tags that a link does not have."""
    for name, choice in choices.items():
        if not 0 <= choice < CHOICES:
            raise UsageError(f"{name} must be 0 to {CHOICES - 1}, not {choice}")


def check_page(page: int, pages: int, pages_max: int = PAGES_MAX) -> None:
    """Refuses a page that is none of so many."""
    if not 0 <= page < pages <= pages_max:
        raise UsageError(f"page {page} of {pages}: pages are counted from 0, to {pages_max}")


def check_length(what: str, data: bytes, *lengths: int) -> None:
    """Refuses bytes that are not one of the lengths that a field has."""
    if len(data) not in lengths:
        wanted = " or ".join(map(str, lengths))
        raise UsageError(f"{what} has {wanted} bytes, not {len(data)}")
