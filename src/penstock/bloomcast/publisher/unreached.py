"""How long a publisher waits for those whom it cannot reach, when all others are done."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.segment.segment_head import SegmentHead
from penstock.bloomcast.settings import HeadSettings
from penstock.kernel.instant import Instant


class Unreached:
    """Of one transfer. All blocks of a stream wait once: its writer is not to wait for each."""

    def __init__(self, head: SegmentHead, settings: HeadSettings, *, is_of_stream: bool) -> None:
        self._head: Final = head
        self._settings: Final = settings
        self._is_of_stream: Final = is_of_stream
        # Since when all are done but these.
        self._since: Instant | None = None

    def others_are_waited_for(self) -> None:
        """Not all others are done."""
        if not self._is_of_stream:
            self._since = None

    def are_waited_for(self, now: Instant) -> bool:
        """Whether there are any, and it is worth while."""
        ends, settings = self._head.ends, self._settings
        if not self._head.left_out and (len(ends) or not ends.failed):
            self._since = None
            return False
        if self._since is None:
            self._since = now
        patience_ns = settings.silence_ns if len(ends) else settings.unreached_ns
        return now - self._since < patience_ns
