"""Which frames of each sender have come before: a frame counts once.

Whoever has the keys may send a number far ahead of a sender's: its frames are refused then until
its next start, which always counts from anew.
"""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.discovery.serial_numbers import distance
from penstock.kernel.bounded import BoundedDict
from penstock.wire.frames.cast.base import Origin


class ReplayWindow:
    """The numbers of each sender's present start that have come; older than the window: refused."""

    def __init__(self, *, window: int, senders_max: int) -> None:
        self._window: Final = window
        self._mask: Final = (1 << window) - 1
        # By node: its start, the highest number, and a bit for each number behind it.
        self._seen: Final[BoundedDict[int, tuple[int, int, int]]] = BoundedDict(
            senders_max, recent=True
        )

    def is_new(self, origin: Origin) -> bool:
        """Whether this frame has not come before; it has from now on."""
        node, boot, number = origin
        known = self._seen.get(node)
        if known is None or boot > known[0]:
            self._seen[node] = (boot, number, 1)
            return True
        known_boot, highest, bits = known
        if boot < known_boot:
            return False
        ahead = distance(number, highest, bits=32)
        if ahead > 0:
            moved = bits << ahead & self._mask if ahead < self._window else 0
            self._seen[node] = (boot, number, moved | 1)
            return True
        if -ahead >= self._window or bits >> -ahead & 1:
            return False
        self._seen[node] = (boot, highest, bits | 1 << -ahead)
        return True
