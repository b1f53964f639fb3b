"""Names of items: SCOPE/NAME, which packets carry as two hashes."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.wire.frames.cast.base import ITEM_BYTES_MAX, Item

# Not forwarded by any router.
LOCAL: Final = "local"


def split_item(text: str) -> tuple[str, str]:
    """The scope and the name of an item; without a scope it is local."""
    scope, _, name = text.rpartition("/")
    if not name or text.startswith("/") or "//" in text or name in (".", ".."):
        raise UsageError(f"{text!r} is no item: write NAME or SCOPE/NAME, such as images/debian")
    if len(text.encode()) > ITEM_BYTES_MAX:
        raise UsageError(f"an item has at most {ITEM_BYTES_MAX} bytes: choose a shorter name")
    return scope or LOCAL, name


def item_of(text: str) -> Item:
    """What packets call it."""
    scope, name = split_item(text)
    return Item(_hash(scope), _hash(name))


def scope_id(path: str) -> int:
    """What beacons and packets call a scope."""
    return _hash(path)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


LOCAL_SCOPE: Final = scope_id(LOCAL)
