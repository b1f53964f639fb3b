"""What children were told of the streams here: only what has changed is told again.

Parents may form a loop by mistake. Where each HELLO is answered by one to the next broker, whatever
it says, they would go round in it for ever.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.hello import Hello


class SaidHellos:
    """The last HELLO of each link to a child."""

    def __init__(self) -> None:
        self._last: Final[dict[Port, Hello]] = {}

    def is_new(self, port: Port, hello: Hello) -> bool:
        """Whether this child has to hear it; then it counts as said."""
        last = self._last.get(port)
        if last is not None and _without_leases(last) == _without_leases(hello):
            # Leases rise all the time; one that falls is that of a restored log.
            pairs = zip(last.pubends, hello.pubends, strict=True)
            if all(before.lease <= after.lease for before, after in pairs):
                return False
        self._last[port] = hello
        return True

    def forget(self, port: Port) -> None:
        """The link is gone."""
        self._last.pop(port, None)


def _without_leases(hello: Hello) -> Hello:
    pubends = tuple(msgspec.structs.replace(each, lease=0) for each in hello.pubends)
    return msgspec.structs.replace(hello, pubends=pubends)
