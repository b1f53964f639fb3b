"""Who an endpoint is; knows nothing of what it does."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.content.tags import Encoder


@dataclass(frozen=True, slots=True)
class Identity:
    """Who an endpoint is, and how it encodes."""

    endpoint_id: int
    epoch: int
    encoder: Encoder
