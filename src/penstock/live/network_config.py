"""The configuration that all nodes of one network share.

Nodes with different configurations would misread each other's summaries without noticing. So every
HELLO carries a fingerprint of the configuration, and nodes ignore those with another one.
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
    """The name salts the encoding of filters; `overlay` has the periods and bounds of brokers."""

    name: str = "penstock"
    schema: Schema = field(default_factory=Schema)
    bloom: BloomParams = field(default_factory=BloomParams)
    overlay: OverlaySettings = DEFAULTS

    def __post_init__(self) -> None:
        self.encoder()  # raises UsageError if the values do not fit together

    @property
    def network(self) -> int:
        """A fingerprint of everything that determines the encoding."""
        terms = (self.name, self.schema, self.bloom.m, self.bloom.k)
        encoded = msgspec.json.encode(terms, order="sorted")
        return int.from_bytes(blake2b(encoded, digest_size=4).digest(), "big")

    def encoder(self) -> Encoder:
        """A new encoder; it has large caches, so a node should create only one."""
        return Encoder(self.name.encode(), self.schema, params=self.bloom)


DEFAULT_NETWORK: Final = Agreement()
