"""Which lane of a queue a frame takes: one for each pubend, and one past all of them."""

from __future__ import annotations

from typing import Any, Final

from penstock.wire.frames.guaranteed.channels import CHANNEL_OF, Channel

# What concerns congestion must not wait behind the data that it is about; and HELLO comes before
# all data of what it announces.
URGENT: Final = -1
# Clients get everything in the order in which it was said.
_CLIENT: Final = 0
_CHANNELS: Final = {kind: channel is Channel.DATA for kind, channel in CHANNEL_OF.items()}


def lane_of(frame: Any) -> int:
    """The pubend that a frame is about, or what stands for it."""
    is_data = _CHANNELS.get(type(frame))
    if is_data:
        pubend: int = frame.pubend
        return pubend
    # Frames of clients have no channel.
    return _CLIENT if is_data is None else URGENT


def one_lane_of(frame: Any) -> int:
    """First come, first served, but for what is urgent."""
    return _CLIENT if _CHANNELS.get(type(frame), True) else URGENT
