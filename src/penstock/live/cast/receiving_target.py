"""Where an object is received: checked and locked before anybody is told that it is wanted."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import monotonic
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.live.cast.finished_object import check_vacant
from penstock.live.cast.part_state import PartState

_NAME_BYTES_MAX: Final = 240


class ReceivingTarget:
    """A name in a directory, which no other process receives as long as this is open."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        name: str,
        *,
        overwrite: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        check_name(name)
        folder = os.fspath(directory)
        if not os.path.isdir(folder):
            raise UsageError(f"{folder} is no directory: create it first")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise UsageError(
                f"{folder} cannot be written to: choose another directory, or change who may"
            )
        self.path: Final = os.path.join(folder, name)
        self.overwrite: Final = overwrite
        self.part: Final = f"{self.path}.part"
        state = f"{self.part}.state"
        check_vacant(self.path, overwrite=overwrite)
        if os.path.lexists(self.part) and not os.path.lexists(state):
            raise UsageError(f"{self.part} is in the way: remove it")
        self.state: Final = PartState(state, clock=clock)

    def close(self) -> None:
        """Another process may receive it now."""
        self.state.close()


def check_name(name: str) -> None:
    """Refuses what is no name of a file in a directory."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise UsageError(f"{name!r} is no name of a file: name the item otherwise")
    if len(os.fsencode(name)) > _NAME_BYTES_MAX:
        raise UsageError(f"a name may have {_NAME_BYTES_MAX} bytes: name the item otherwise")
