"""Every fate has one name: in traces, in the interface, in counters, in reports.

A sequence number that a receiver misses walks through `MissingState` along
`TRANSITIONS` and ends in exactly one fate. Knows nothing of when or why a
machine moves; only which moves there are.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeAlias


class ReceiverFate(StrEnum):
    """What became of a message at one receiver."""

    DELIVERED = "delivered"
    DELIVERED_LATE = "delivered_late"
    DROPPED_LATE = "dropped_late"
    REPAIRED = "repaired"
    GIVEN_UP = "given_up"


class MissingState(StrEnum):
    """What a receiver knows of a number that it has not received."""

    UNKNOWN = "unknown"
    IRRELEVANT = "irrelevant"
    MISSING = "missing"
    RELEASED = "released"
    LOST = "lost"


class PublisherFate(StrEnum):
    """What became of a message at its publisher."""

    SENT = "sent"
    # It had to wait; what has no number still did when the run ended.
    RATE_LIMITED = "rate_limited"
    DROPPED_AT_SOURCE = "dropped_at_source"


class DropReason(StrEnum):
    """Why the network dropped a packet."""

    QUEUE_FULL = "queue_full"
    NO_ROUTE = "no_route"
    TTL = "ttl"
    LOSS = "loss"
    DUPLICATE = "duplicate"
    # The link, or the host behind it, was down.
    DOWN = "down"
    # It arrived, and could not be read.
    CORRUPT = "corrupt"


class HopDecision(StrEnum):
    """What a broker did with a message: the steps of its life that `why` tells."""

    ENTERED = "entered"
    FORWARDED = "forwarded"
    HANDED_OVER = "handed_over"
    # At the first broker: nobody anywhere asked for it. At the last: no client's exact filter did.
    FILTERED = "filtered"
    NO_MATCH = "no_match"
    DROPPED = "dropped"


# What can happen to a packet on a link; the other reasons are a broker's.
LINK_REASONS: Final = (
    DropReason.QUEUE_FULL,
    DropReason.LOSS,
    DropReason.DOWN,
    DropReason.CORRUPT,
)

MissingOutcome: TypeAlias = MissingState | ReceiverFate

# The application got the message.
RECEIVED: Final = frozenset(
    {ReceiverFate.DELIVERED, ReceiverFate.DELIVERED_LATE, ReceiverFate.REPAIRED}
)

# A message that comes after all: the original in time or late, or a repair.
_ARRIVED: Final[frozenset[MissingOutcome]] = RECEIVED | {ReceiverFate.DROPPED_LATE}

TRANSITIONS: Final[Mapping[MissingOutcome, frozenset[MissingOutcome]]] = {
    MissingState.UNKNOWN: _ARRIVED | {MissingState.IRRELEVANT, MissingState.MISSING},
    # A record said it is not for us, and may have been wrong; as it may when it says the
    # opposite of a message that then comes, and is not for us.
    MissingState.IRRELEVANT: _ARRIVED,
    MissingState.MISSING: _ARRIVED
    | {MissingState.RELEASED, MissingState.LOST}
    | {MissingState.IRRELEVANT, ReceiverFate.GIVEN_UP},
    # It blocks nobody any more, but may still come.
    MissingState.RELEASED: _ARRIVED
    | {MissingState.LOST, MissingState.IRRELEVANT, ReceiverFate.GIVEN_UP},
    MissingState.LOST: _ARRIVED | {MissingState.IRRELEVANT, ReceiverFate.GIVEN_UP},
    ReceiverFate.DELIVERED: frozenset(),
    ReceiverFate.DELIVERED_LATE: frozenset(),
    ReceiverFate.DROPPED_LATE: frozenset(),
    ReceiverFate.REPAIRED: frozenset(),
    ReceiverFate.GIVEN_UP: frozenset(),
}

# What a number ends as when its receiver leaves or its publisher starts a new epoch. Of a number
# that nobody ever described, or that was not for us, there is nothing to give up.
AT_CLOSE: Final[Mapping[MissingState, MissingOutcome]] = {
    MissingState.UNKNOWN: MissingState.UNKNOWN,
    MissingState.IRRELEVANT: MissingState.IRRELEVANT,
    MissingState.MISSING: ReceiverFate.GIVEN_UP,
    MissingState.RELEASED: ReceiverFate.GIVEN_UP,
    MissingState.LOST: ReceiverFate.GIVEN_UP,
}
