"""The process that decodes the blocks of a receiver, so that its loop misses no symbols."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from threading import Thread


def decoder_process() -> ProcessPoolExecutor:
    """Started with the first block; ends with its receiver, however that ends."""
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_prepare)


def _prepare() -> None:
    # Ctrl-C goes to all processes of a terminal, and the receiver has still to leave.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """One that is killed cannot say so."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
