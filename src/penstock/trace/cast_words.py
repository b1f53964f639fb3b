"""The words of columns that are about casts."""

from enum import StrEnum


class CastKind(StrEnum):
    """What crosses a link, as in the column `cast_crossings.kind`."""

    # The first distribution, and all that is sent after it.
    DATA = "data"
    REPAIR = "repair"
    # Reports: the answer to the opening, what somebody needs, and that nothing is needed.
    READY = "ready"
    NEEDS = "needs"
    DONE = "done"
    # What a publisher says of its transfer, rates, and all that nodes say to find one another.
    TRANSFER = "transfer"
    RATE = "rate"
    CONTROL = "control"


class CastPart(StrEnum):
    """What a node does in a cast."""

    PUBLISHER = "publisher"
    RELAY = "relay"
    ROUTER = "router"
    SUBSCRIBER = "subscriber"


class Direction(StrEnum):
    """Which way a report went."""

    SENT = "sent"
    RECEIVED = "received"


class Yardstick(StrEnum):
    """What a cast is measured against, for the same losses: other ways to recover, and bounds."""

    UNICAST = "unicast"
    # PGM's NAK and NCF.
    PGM = "pgm"
    EXACT_BITMAPS = "exact_bitmaps"
    # No repair can be cheaper if only the publisher has the object, with any code or without one,
    # or if every node keeps what it received.
    PUBLISHER_ONLY = "publisher_only"
    UNCODED = "uncoded"
    CACHES = "caches"
