"""Penstock: dependable streams over best-effort content-based publish/subscribe."""

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["__version__", "connect"]

if TYPE_CHECKING:
    from penstock.live.client import connect
else:

    def __getattr__(name: str) -> object:
        """`connect` is loaded when it is asked for: whoever needs no socket waits for none."""
        if name != "connect":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from penstock.live.client import connect

        globals()[name] = connect
        return connect
