"""The congestion mark: a bit that says that a message stood in a queue that was too full.

Whoever drives a broker knows the queues, and marks what it puts in one. From then on the
mark goes with the packet, through brokers that know of marks and through others, and the
last one hands it over with the message. Only DATA can bear it to an endpoint.
"""

from __future__ import annotations

import msgspec

from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.carried_frame import Parcel
from penstock.wire.frames.data import Data
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet


def mark(frame: OverlayFrame) -> OverlayFrame:
    """The frame with a mark, as large as it was; itself if it can have none, or has one."""
    if type(frame) is Packet:
        return frame if frame.is_marked else frame.marked()
    if type(frame) is Notify:
        parcel = mark_parcel(frame.parcel)
        return frame if parcel is frame.parcel else Notify(parcel=parcel)
    return frame


def mark_parcel(parcel: Parcel) -> Parcel:
    """What is handed to clients, with a mark."""
    frame = parcel.frame
    if type(frame) is not Data or frame.is_marked:
        return parcel
    marked = Parcel(msgspec.structs.replace(frame, is_marked=True))
    marked.size_bytes = parcel.size_bytes
    return marked
