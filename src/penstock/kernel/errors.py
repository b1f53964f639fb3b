"""Who is to blame, in three parts.

`assert` is for our own bugs. What another machine sent wrong is a `PeerError`:
it is counted and dropped, never allowed to stop a node. What the caller asked
wrong is a `UsageError`, whose text says what to do next. Nobody is to blame for
an `UnreachableError`: trying again later may help.
"""


class PenstockError(Exception):
    """Anything this package raises on purpose; the text is one line for a person."""


class PeerError(PenstockError):
    """A peer sent something malformed, too large or out of place."""


class UsageError(PenstockError, ValueError):
    """The caller asked for something that cannot be; the text says what to write instead."""


class UnreachableError(PenstockError, ConnectionError):
    """Nobody answers; a `ConnectionError`, for programs that try again on those already."""
