"""The names of all fates, the same in traces, in the interface, in counters and in reports.

A message that a receiver misses moves through `MissingState` along `TRANSITIONS` and ends in
exactly one fate. Knows which transitions exist, not when or why a machine makes them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeAlias


class ReceiverFate(StrEnum):
    """The fate of a message at one receiver."""

    DELIVERED = "delivered"
    DELIVERED_LATE = "delivered_late"
    DROPPED_LATE = "dropped_late"
    REPAIRED = "repaired"
    GIVEN_UP = "given_up"


class MissingState(StrEnum):
    """The state of a message that a receiver has not received."""

    UNKNOWN = "unknown"
    IRRELEVANT = "irrelevant"
    MISSING = "missing"
    RELEASED = "released"
    LOST = "lost"


class PublisherFate(StrEnum):
    """The fate of a message at its publisher."""

    SENT = "sent"
    # It waited; without a sequence number, it was still waiting when the run ended.
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
    # It arrived, and could not be decoded.
    CORRUPT = "corrupt"


class HopDecision(StrEnum):
    """A broker's decision about a message: the steps that `why` shows."""

    ENTERED = "entered"
    FORWARDED = "forwarded"
    HANDED_OVER = "handed_over"
    # At the first broker: no broker's filters match. At the last: no client's exact filter does.
    FILTERED = "filtered"
    NO_MATCH = "no_match"
    DROPPED = "dropped"


# Reasons for a drop on a link; the others are a broker's.
LINK_REASONS: Final = (
    DropReason.QUEUE_FULL,
    DropReason.LOSS,
    DropReason.DOWN,
    DropReason.CORRUPT,
)

MissingOutcome: TypeAlias = MissingState | ReceiverFate

# Fates in which the application got the message.
RECEIVED: Final = frozenset(
    {ReceiverFate.DELIVERED, ReceiverFate.DELIVERED_LATE, ReceiverFate.REPAIRED}
)

# A message that arrives after all: the original, on time or late, or a repair.
_ARRIVED: Final[frozenset[MissingOutcome]] = RECEIVED | {ReceiverFate.DROPPED_LATE}

TRANSITIONS: Final[Mapping[MissingOutcome, frozenset[MissingOutcome]]] = {
    MissingState.UNKNOWN: _ARRIVED | {MissingState.IRRELEVANT, MissingState.MISSING},
    # A record may wrongly say that a message is not for us; it may also wrongly announce a message
    # that then arrives and is not for us.
    MissingState.IRRELEVANT: _ARRIVED,
    MissingState.MISSING: _ARRIVED
    | {MissingState.RELEASED, MissingState.LOST}
    | {MissingState.IRRELEVANT, ReceiverFate.GIVEN_UP},
    # It no longer blocks delivery, but may still arrive.
    MissingState.RELEASED: _ARRIVED
    | {MissingState.LOST, MissingState.IRRELEVANT, ReceiverFate.GIVEN_UP},
    MissingState.LOST: _ARRIVED | {MissingState.IRRELEVANT, ReceiverFate.GIVEN_UP},
    ReceiverFate.DELIVERED: frozenset(),
    ReceiverFate.DELIVERED_LATE: frozenset(),
    ReceiverFate.DROPPED_LATE: frozenset(),
    ReceiverFate.REPAIRED: frozenset(),
    ReceiverFate.GIVEN_UP: frozenset(),
}

# The final state when the receiver leaves or the publisher starts a new epoch. A message that no
# record described, or that was not for us, is not given up.
AT_CLOSE: Final[Mapping[MissingState, MissingOutcome]] = {
    MissingState.UNKNOWN: MissingState.UNKNOWN,
    MissingState.IRRELEVANT: MissingState.IRRELEVANT,
    MissingState.MISSING: ReceiverFate.GIVEN_UP,
    MissingState.RELEASED: ReceiverFate.GIVEN_UP,
    MissingState.LOST: ReceiverFate.GIVEN_UP,
}
