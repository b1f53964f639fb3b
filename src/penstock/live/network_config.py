"""What all nodes of one network have agreed on.

Nodes that have not agreed would misread one another's summaries without noticing.
So a number that stands for the whole agreement goes into every HELLO, and
nobody listens to nodes with another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import msgspec

from penstock.content.bloom import BloomParams
from penstock.content.schema import Schema
from penstock.content.tags import Encoder
from penstock.overlay.settings import DEFAULTS, OverlaySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The network's name salts its encoding; `overlay` has the periods and bounds of brokers."""

    name: str = "penstock"
    schema: Schema = field(default_factory=Schema)
    bloom: BloomParams = field(default_factory=BloomParams)
    overlay: OverlaySettings = DEFAULTS

    def __post_init__(self) -> None:
        self.encoder()  # refuses what cannot be

    @property
    def network(self) -> int:
        """Stands for all that decides what an encoding means."""
        terms = (self.name, self.schema, self.bloom.m, self.bloom.k)
        encoded = msgspec.json.encode(terms, order="sorted")
        return int.from_bytes(blake2b(encoded, digest_size=4).digest(), "big")

    def encoder(self) -> Encoder:
        """A new one; it remembers much, so each node should have one and keep it."""
        return Encoder(self.name.encode(), self.schema, params=self.bloom)


DEFAULT_NETWORK: Final = Agreement()
