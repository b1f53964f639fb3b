"""Errors by responsibility.

`assert` is for our own bugs. A `PeerError` is invalid input from another machine: it is counted and
dropped, and never stops a node. A `UsageError` is a mistake of the caller; its text says what to do
next. An `UnreachableError` is nobody's mistake: a retry may help.
"""


class PenstockError(Exception):
    """Any error that this package raises on purpose; the text is one line for a person."""


class PeerError(PenstockError):
    """A peer sent something malformed, too large or out of place."""


class UsageError(PenstockError, ValueError):
    """The caller requested something impossible; the text says what to write instead."""


class UnreachableError(PenstockError, ConnectionError):
    """No response; a `ConnectionError`, for programs that already retry on those."""
