"""What a pubend takes up from its disk when it starts, or begins with."""

from __future__ import annotations

import msgspec

from penstock.guaranteed.log_record import RecoveredLog
from penstock.guaranteed.settings import Retention


class PubendState(msgspec.Struct, frozen=True, kw_only=True):
    """What a pubend takes up from its disk when it starts."""

    id: int
    stream: str
    log: RecoveredLog
    # What was saved under `pubend/ID/`, by the rest of the key.
    saved: dict[str, bytes]
    # None for the default.
    retention: Retention | None = None
    # Whether a slow host slows publishers: "throttle" or "lag".
    slow_host: str = "throttle"
