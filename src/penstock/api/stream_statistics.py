"""What nodes and subscriptions of guaranteed streams count: nobody is asked for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamNodeStatistics:
    """Of one node, since it was opened."""

    # Publications: all that left or wait here, and what became of them.
    published: int
    confirmed: int
    refused: int
    # Not on disk yet, as far as is known here.
    unconfirmed: int
    # Calls of `publish` and `submit` that wait for credit.
    waiting: int
    subscriptions: int
    reconnects: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DurableStatistics:
    """Of one subscription, since it was opened; what only its host knows is as `lag()` last told.

    Those fields are None before the first `lag()`, and without a durable name.
    """

    # Handed over to the program; those of them that had been handed out before.
    delivered: int
    redelivered: int
    # Positions that the host has stored are behind so many of them.
    acknowledged: int
    # Wait here for the program.
    queued: int
    # At most so many are gone, by gaps.
    lost: int
    parked: int | None
    lag_messages: int | None
    lag_seconds: float | None
    # Whether it reads what was published long ago, and so not from the live stream.
    is_recovering: bool | None
