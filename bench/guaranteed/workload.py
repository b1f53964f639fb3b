"""The message that every system carries: 400 bytes, three attributes among them.

Others carry the bytes as they are, made once: whoever uses them would encode and decode
attributes besides, which only our side is charged with.
"""

from __future__ import annotations

from typing import Final

from penstock.content.value import Value
from penstock.wire.codec.guaranteed.body import write_body

BODY_BYTES: Final = 400
ATTRIBUTES: Final[dict[str, Value]] = {"symbol": "IBM", "price": 101.25, "qty": 100}
# The last byte says whether a phase ends with this message.
_ROOM: Final = BODY_BYTES - len(write_body(ATTRIBUTES, b""))
PAYLOAD: Final = bytes(_ROOM)
LAST_PAYLOAD: Final = bytes(_ROOM - 1) + b"\1"
BODY: Final = write_body(ATTRIBUTES, PAYLOAD)
LAST_BODY: Final = write_body(ATTRIBUTES, LAST_PAYLOAD)
# How many messages one acknowledgement covers.
ACK_EVERY: Final = 100


def is_last(content: bytes) -> bool:
    """Whether a phase ends with this payload or body."""
    return content[-1] == 1
