"""The congestion mark: a bit that says that a message stood in a queue that was too full.

Whoever drives a broker knows the queues, and marks what it puts in one. From then on the
mark goes with the packet, through brokers that know of marks and through others, and the
last one hands it over with the message. Only DATA can bear it to an endpoint.
"""

from __future__ import annotations

import msgspec

from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet


def mark_congestion(frame: OverlayFrame) -> OverlayFrame:
    """The frame with a mark, as large as it was; itself if it can have none, or has one."""
    if type(frame) is Packet:
        return frame if frame.congestion_experienced else frame.with_congestion_mark()
    if type(frame) is Notify:
        carried = mark_carried_frame(frame.carried)
        return frame if carried is frame.carried else Notify(carried=carried)
    return frame


def mark_carried_frame(carried: CarriedFrame) -> CarriedFrame:
    """What is handed to clients, with a mark."""
    frame = carried.frame
    if type(frame) is not Data or frame.congestion_experienced:
        return carried
    marked = CarriedFrame(msgspec.structs.replace(frame, congestion_experienced=True))
    marked.size_bytes = carried.size_bytes
    return marked
