"""The body of a message: its attributes and payload, written once by the publisher's client.

    +-------+------------+----------------------------+
    | bytes | attributes | payload, up to the end ... |
    +-------+------------+----------------------------+
      2       bytes

Logs and frames copy it as it is; attributes are decoded only where a filter needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.content.limits import ATTRIBUTES_MAX
from penstock.content.value import Value, check_name, check_value
from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.attributes import read_attributes, write_attributes
from penstock.wire.codec.reader import U16
from penstock.wire.frames.guaranteed.base import MESSAGE_BYTES_MAX

_ATTRIBUTE_BYTES_MAX = (1 << 16) - 1


# Names that were found valid: a publisher's messages have the same ones, mostly.
_CHECKED: Final[set[str]] = set()
_CHECKED_MAX: Final = 1_000


def write_body(
    attributes: Mapping[str, Value], payload: bytes = b"", *, bytes_max: int = MESSAGE_BYTES_MAX
) -> bytes:
    """Encodes a body; raises `UsageError` for what is no message or too large."""
    # A dictionary is a mapping: to ask `Mapping` takes as long as to write a value.
    if type(attributes) is not dict and not isinstance(attributes, Mapping):
        raise UsageError(
            f"a message's attributes must be a mapping, not {type(attributes).__name__}"
        )
    if len(attributes) > ATTRIBUTES_MAX:
        raise UsageError(
            f"a message has at most {ATTRIBUTES_MAX} attributes, not {len(attributes)}"
        )
    if not isinstance(payload, bytes):
        raise UsageError(f"a payload must be bytes, not {type(payload).__name__}")
    if not _CHECKED.issuperset(attributes):
        _check_names(attributes)
    for value in attributes.values():
        check_value(value)
    written = write_attributes(attributes if type(attributes) is dict else dict(attributes))
    if len(written) > _ATTRIBUTE_BYTES_MAX:
        raise UsageError(
            f"attributes of {len(written)} bytes: at most {_ATTRIBUTE_BYTES_MAX} fit, put the rest"
            " into the payload"
        )
    size_bytes = U16.size + len(written) + len(payload)
    if size_bytes > bytes_max:
        raise UsageError(
            f"a message of {size_bytes} bytes ({len(written)} of attributes, {len(payload)} of"
            f" payload): at most {bytes_max} are allowed, send less at once"
        )
    return b"".join((U16.pack(len(written)), written, payload))


def _check_names(attributes: Mapping[str, Value]) -> None:
    for name in attributes:
        check_name(name)
    if len(_CHECKED) + len(attributes) > _CHECKED_MAX:
        _CHECKED.clear()
    _CHECKED.update(attributes)


def read_attributes_of(body: bytes) -> dict[str, Value]:
    """Decodes and validates the attributes; raises `PeerError`."""
    return read_attributes(body[U16.size : _payload_start(body)])


def read_payload_of(body: bytes) -> bytes:
    """The payload; raises `PeerError` if the body ends before it."""
    return body[_payload_start(body) :]


def _payload_start(body: bytes) -> int:
    if len(body) < U16.size:
        raise PeerError(f"a message of {len(body)} bytes ends in the length of its attributes")
    start = U16.size + (body[0] << 8 | body[1])
    if start > len(body):
        raise PeerError(f"a message of {len(body)} bytes ends in its attributes")
    return start
