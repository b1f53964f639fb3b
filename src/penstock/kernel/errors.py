"""Errors by responsibility.

`assert` is for our own bugs. A `PeerError` is invalid input from another machine: it is counted and
dropped, and never stops a node. A `UsageError` is a mistake of the caller; its text says what to do
next. An `UnreachableError` is nobody's mistake: a retry may help. A `RefusedError` is an answer: a
broker said no, and why. The other errors of the interface stand in `api.errors`.
"""


class PenstockError(Exception):
    """Any error that this package raises on purpose; the text is one line for a person."""


class PeerError(PenstockError):
    """A peer sent something malformed, too large or out of place."""


class VersionError(PeerError):
    """A peer speaks another version of the wire format."""


class UsageError(PenstockError, ValueError):
    """The caller requested something impossible; the text says what to write instead."""


class TooLargeError(UsageError):
    """A message has `size` bytes of attributes and payload, above the `limit`."""

    def __init__(self, size: int, limit: int) -> None:
        # Both arguments, so that the error survives pickling; so do the others with arguments.
        super().__init__(size, limit)
        self.size = size
        self.limit = limit

    def __str__(self) -> str:
        return (
            f"the message is too large, {self.size:,} bytes:"
            f" attributes and payload may have {self.limit:,} bytes together"
        )


class UnreachableError(PenstockError, ConnectionError):
    """No response; a `ConnectionError`, for programs that already retry on those."""


class RefusedError(PenstockError, ConnectionError):
    """A broker said no.

    `reason` is a word for programs, such as `full` or `stream_full`; `address` is that of a broker
    that would not refuse, if one is known.
    """

    def __init__(self, text: str, reason: str, address: str | None = None) -> None:
        super().__init__(text, reason, address)
        self.text = text
        self.reason = reason
        self.address = address

    def __str__(self) -> str:
        return self.text
