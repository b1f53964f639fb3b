"""The identity of an endpoint; it does not know the endpoint's state."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.content.tags import Encoder


@dataclass(frozen=True, slots=True)
class Identity:
    """The id, epoch and tag encoder of an endpoint."""

    endpoint_id: int
    epoch: int
    encoder: Encoder
