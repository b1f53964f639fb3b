"""A message: named attributes that filters can test, and a payload that they cannot."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.content.limits import ATTRIBUTES_MAX, PAYLOAD_BYTES_MAX
from penstock.content.value import Key, Value, check_name, check_value, equal, key_of
from penstock.kernel.errors import UsageError


class Message:
    """Immutable by convention: build a new one instead of changing it."""

    __slots__ = ("_keys", "attributes", "payload")

    attributes: Mapping[str, Value]
    payload: bytes

    def __init__(self, attributes: Mapping[str, Value], payload: bytes = b"") -> None:
        if not isinstance(attributes, Mapping):
            raise UsageError(
                f"a message's attributes must be a mapping, not {type(attributes).__name__}"
            )
        if len(attributes) > ATTRIBUTES_MAX:
            raise UsageError(f"a message has at most {ATTRIBUTES_MAX} attributes")
        if not isinstance(payload, bytes):
            raise UsageError(f"a payload must be bytes, not {type(payload).__name__}")
        if len(payload) > PAYLOAD_BYTES_MAX:
            raise UsageError(f"a payload has at most {PAYLOAD_BYTES_MAX} bytes")
        self.attributes = {check_name(name): check_value(v) for name, v in attributes.items()}
        self.payload = payload
        self._keys: Mapping[str, Key] | None = None

    @classmethod
    def trusted(cls, attributes: Mapping[str, Value], payload: bytes = b"") -> Message:
        """A message of attributes that the codec has already validated; keeps the mapping."""
        message = object.__new__(cls)
        message.attributes = attributes
        message.payload = payload
        message._keys = None
        return message

    @property
    def keys(self) -> Mapping[str, Key]:
        """The attributes as dictionary keys; see `value.key_of`."""
        keys = self._keys
        if keys is None:
            attributes = self.attributes
            if bool in map(type, attributes.values()):
                keys = {name: key_of(value) for name, value in attributes.items()}
            else:
                keys = attributes
            self._keys = keys
        return keys

    def __reduce__(self) -> tuple[object, tuple[dict[str, Value], bytes]]:
        return Message.trusted, (dict(self.attributes), self.payload)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        mine, theirs = self.attributes, other.attributes
        return (
            self.payload == other.payload
            and mine.keys() == theirs.keys()
            and all(equal(value, theirs[name]) for name, value in mine.items())
        )

    def __hash__(self) -> int:
        return hash((frozenset(self.keys.items()), self.payload))

    def __repr__(self) -> str:
        payload = f", payload={self.payload!r}" if self.payload else ""
        return f"Message({dict(self.attributes)!r}{payload})"
