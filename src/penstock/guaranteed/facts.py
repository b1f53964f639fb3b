"""What a broker asks of its driver besides frames and disk writes; each comes as a `Deliver`."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from penstock.guaranteed.settings import Retention
from penstock.kernel.machine import Port


class StreamWanted(msgspec.Struct, frozen=True):
    """Create an empty log for a stream, under a new random id, and keep these settings with it.

    Answered by `Broker.add_stream`, or by `Broker.stream_refused` if it cannot be done.
    """

    stream: str
    retention: Retention
    # Whether a slow host slows publishers: "throttle" or "lag".
    slow_host: str


class StreamUnwanted(msgspec.Struct, frozen=True):
    """Delete the log of a pubend that is no longer there; answered by `Broker.stream_deleted`."""

    pubend: int
    stream: str
    log: str


class Disconnect(msgspec.Struct, frozen=True):
    """Close a client's connection once what is queued for it has left; then `client_down`."""

    port: Port
    # One line for the log.
    text: str


class Alarm(msgspec.Struct, frozen=True):
    """Something that an operator must know: one line for the log, told once."""

    # A word for programs: `rolled_back`, `above_lease`, `gap_open`, `damaged`, `too_many_pubends`,
    # `same_name` or `loop`.
    kind: str
    text: str


BrokerFact: TypeAlias = StreamWanted | StreamUnwanted | Disconnect | Alarm
