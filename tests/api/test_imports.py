"""The shared types load nothing heavy, and `penstock.streams` exports them on first access."""

from __future__ import annotations

import subprocess
import sys

import pytest

import penstock.streams
from penstock.api.publisher import Publisher

SCRIPT = """if True:
    import pkgutil, sys
    from importlib import import_module
    import penstock.api, penstock.streams
    assert "penstock.api.message" not in sys.modules, "loaded before it is asked for"
    for module in pkgutil.iter_modules(penstock.api.__path__):
        import_module(f"penstock.api.{module.name}")
    for name, home in penstock.streams._HOMES.items():
        if home.startswith("api."):
            getattr(penstock.streams, name)
    heavy = {"asyncio", "socket", "ssl", "subprocess", "threading", "numpy", "scipy", "pyarrow"}
    print(sorted(heavy & set(sys.modules)))
"""


def test_the_shared_types_load_no_sockets_and_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, check=True, text=True
    )
    assert done.stdout == "[]\n"


def test_streams_has_every_name_that_it_exports() -> None:
    assert sorted(penstock.streams._HOMES) == penstock.streams.__all__
    for name in penstock.streams.__all__:
        assert getattr(penstock.streams, name).__name__ == name
        assert name in dir(penstock.streams)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        penstock.streams.nonsense  # type: ignore[attr-defined]  # noqa: B018


class Printer:
    """Something of one's own that publishes."""

    async def publish(self, attributes: object, payload: bytes = b"", *, loud: bool = False) -> int:
        return len(payload)


def test_whatever_publishes_is_a_publisher() -> None:
    publisher: Publisher = Printer()
    assert publisher
