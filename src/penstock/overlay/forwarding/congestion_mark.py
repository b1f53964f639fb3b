"""The congestion mark: a bit which says that a message passed through an overfull queue.

The driver of a broker knows the queues and sets the mark when it enqueues a frame. Every broker
relays the mark, also one that sets none, and the last broker copies it into the delivered message.
Only DATA can carry it to an endpoint.
"""

from __future__ import annotations

import msgspec

from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet


def mark_congestion(frame: OverlayFrame) -> OverlayFrame:
    """The frame with the mark set, of the same size; the frame itself if it has one or cannot."""
    if type(frame) is Packet:
        return frame if frame.congestion_experienced else frame.with_congestion_mark()
    if type(frame) is Notify:
        carried = mark_carried_frame(frame.carried)
        return frame if carried is frame.carried else Notify(carried=carried)
    return frame


def mark_carried_frame(carried: CarriedFrame) -> CarriedFrame:
    """The carried frame with the mark set if it is DATA, otherwise itself."""
    frame = carried.frame
    if type(frame) is not Data or frame.congestion_experienced:
        return carried
    marked = CarriedFrame(msgspec.structs.replace(frame, congestion_experienced=True))
    marked.size_bytes = carried.size_bytes
    return marked
