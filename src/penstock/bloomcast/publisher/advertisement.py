"""ADVERTISE, as a publisher says it of its offer."""

from __future__ import annotations

from penstock.bloomcast.facts import Offer
from penstock.wire.frames.cast.membership import Advertise


def advertisement(offer: Offer, *, publisher: int, epoch: int, receivers: int) -> Advertise:
    """`epoch` and `receivers` change in the course of a transfer."""
    return Advertise(
        publisher=publisher,
        epoch=epoch,
        object_id=offer.object_id,
        kind=offer.kind,
        length_bytes=offer.length_bytes,
        receivers=receivers,
        wait_ms=offer.wait_ms,
    )
