"""What becomes of a message that arrives after later ones were delivered.

A subscription chooses whether such messages are delivered out of order or dropped. `stream`
knows which messages are late.
"""

from __future__ import annotations

from typing import Final

from penstock.trace.fates import ReceiverFate
from penstock.transport.settings import OrderingSettings

_DROPPED_LATE: Final = ReceiverFate.DROPPED_LATE


def late_fate(ordering: OrderingSettings, delivered: ReceiverFate) -> ReceiverFate:
    """The fate of a late message, which is `delivered` unless late messages are dropped."""
    return _DROPPED_LATE if ordering.late == "drop" else delivered
