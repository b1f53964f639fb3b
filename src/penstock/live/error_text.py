"""What went wrong, for a line that a person reads."""

from __future__ import annotations


def in_words(error: BaseException) -> str:
    """Of an error of the system what it says, without its number; else the text of the error."""
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return error.strerror + where
    return str(error)
