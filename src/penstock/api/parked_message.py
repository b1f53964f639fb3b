"""A message that failed too often and was put aside for one durable subscription."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.api.message import utc_of
from penstock.api.position import Position
from penstock.content.value import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedMessage:
    """What was put aside, where it stood, and why; `parked["price"]` reads its attributes."""

    durable: str
    position: Position
    # Empty where the message is too large to be shown; to hand it out again still works.
    attributes: Mapping[str, Value]
    payload: bytes
    is_shown: bool
    published_ns: int
    # How often it was handed out, and what `fail` was told last.
    attempts: int
    reason: str

    @property
    def published_at(self) -> datetime:
        """When it was published, in UTC, to the microsecond."""
        return utc_of(self.published_ns)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, or `default` where the message has none of that name."""
        return self.attributes.get(name, default)

    def __getitem__(self, name: str) -> Any:
        return self.attributes[name]
