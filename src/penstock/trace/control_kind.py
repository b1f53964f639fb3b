"""The kinds of control frames that a trace tells apart.

The words are the ones that traces have had so far, whatever the frames' classes are called.
"""

from enum import StrEnum


class ControlKind(StrEnum):
    """What a control frame is for, as the column `signals.kind` has it."""

    DIGEST = "digest"
    TRACK_REQUEST = "track"
    TRACK_REPLY = "tracked"
    RANGE_REQUEST = "recall"
    ECHO_REQUEST = "echorequest"
    ECHO_REPLY = "echoreply"
    ACK = "ack"
