"""Names and texts in frames: how long they are, and which are too long."""

from __future__ import annotations

from penstock.kernel.errors import UsageError


def text_bytes(text: str) -> int:
    """The length of a text in UTF-8."""
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise UsageError("a name or text must be valid Unicode, without lone surrogates") from None


def check_text(what: str, text: str, bytes_max: int) -> None:
    """Refuses texts that are too long."""
    if text_bytes(text) > bytes_max:
        raise UsageError(f"{what} has at most {bytes_max} bytes, not {text_bytes(text)}")
