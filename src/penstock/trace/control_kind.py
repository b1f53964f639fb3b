"""The kinds of control frames in a trace.

The values are fixed by existing traces and do not follow the names of the frame classes.
"""

from enum import StrEnum


class ControlKind(StrEnum):
    """The purpose of a control frame, as in the column `signals.kind`."""

    DIGEST = "digest"
    TRACK_REQUEST = "track"
    TRACK_REPLY = "tracked"
    RANGE_REQUEST = "recall"
    ECHO_REQUEST = "echorequest"
    ECHO_REPLY = "echoreply"
    ACK = "ack"
