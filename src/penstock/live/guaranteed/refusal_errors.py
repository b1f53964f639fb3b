"""What a broker refuses, as the errors that programs catch."""

from __future__ import annotations

from typing import Final

from penstock.api.errors import DurableError, RefusedError
from penstock.wire.frames.guaranteed.client import Refused

# Words of brokers about a durable name, and the word that a program sees.
_DURABLE_REASONS: Final = {
    "unknown": "unknown",
    "forgotten": "unknown",
    "in_use": "in_use",
    "taken_over": "in_use",
    "other_filter": "other_filter",
    # It reads other streams: what it wants is another.
    "other_streams": "other_filter",
    "other_host": "other_host",
}


def refused_error(refused: Refused) -> RefusedError:
    """The error for what a broker has refused."""
    return RefusedError(refused.text, refused.reason, refused.address or None)


def durable_error(error: RefusedError, durable: str | None) -> DurableError | RefusedError:
    """The same, where it is about a durable name."""
    reason = _DURABLE_REASONS.get(error.reason)
    if durable is None or reason is None:
        return error
    return DurableError(error.text, durable, reason)
