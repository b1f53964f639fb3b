"""Penstock: dependable streams over best-effort content-based publish/subscribe."""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from penstock.kernel.errors import PeerError, PenstockError, UnreachableError, UsageError
    from penstock.live.network_config import Agreement
    from penstock.live.node.node import Node, connect
    from penstock.live.node.repair_cache import Volunteer
    from penstock.live.node.subscription import Received, Subscription
    from penstock.transport.congestion.settings import CongestionSettings
    from penstock.transport.facts import Absence, Loss, Unseen
    from penstock.transport.recovery.cache_size import CacheSettings
    from penstock.transport.recovery.settings import RecoverySettings
    from penstock.transport.settings import (
        OFF,
        OrderingSettings,
        RecordSettings,
        constant,
        literal,
    )

# What an application needs, by the module that has it. It is loaded when it is asked for:
# whoever needs no socket waits for none.
_HOMES = {
    "Absence": "transport.facts",
    "Agreement": "live.network_config",
    "CacheSettings": "transport.recovery.cache_size",
    "Loss": "transport.facts",
    "Node": "live.node.node",
    "OFF": "transport.settings",
    "OrderingSettings": "transport.settings",
    "PeerError": "kernel.errors",
    "PenstockError": "kernel.errors",
    "Received": "live.node.subscription",
    "RecordSettings": "transport.settings",
    "CongestionSettings": "transport.congestion.settings",
    "RecoverySettings": "transport.recovery.settings",
    "Subscription": "live.node.subscription",
    "UnreachableError": "kernel.errors",
    "Unseen": "transport.facts",
    "UsageError": "kernel.errors",
    "Volunteer": "live.node.repair_cache",
    "connect": "live.node.node",
    "constant": "transport.settings",
    "literal": "transport.settings",
}

__all__ = [
    "OFF",
    "Absence",
    "Agreement",
    "CacheSettings",
    "CongestionSettings",
    "Loss",
    "Node",
    "OrderingSettings",
    "PeerError",
    "PenstockError",
    "Received",
    "RecordSettings",
    "RecoverySettings",
    "Subscription",
    "UnreachableError",
    "Unseen",
    "UsageError",
    "Volunteer",
    "__version__",
    "connect",
    "constant",
    "literal",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # a checker would take every name for one that is here

    def __getattr__(name: str) -> object:
        """From its home, once."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
        return found
