"""What a broker starts with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from penstock.guaranteed.pubend.pubend_state import PubendState


class BrokerState(msgspec.Struct, frozen=True, kw_only=True):
    """What a broker starts with: its name, and what its disk has kept."""

    name: str
    # Higher after each restart.
    life: int
    address: str = ""
    wall_ns: int
    pubends: Sequence[PubendState] = ()
    # How many parents it was told to connect to.
    parents: int = 0
    # Everything saved that is not of a pubend.
    saved: Mapping[str, bytes] = {}
