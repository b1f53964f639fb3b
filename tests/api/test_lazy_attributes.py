"""Attributes that are decoded on first access look like any other mapping."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, cast

import pytest

from penstock.api.lazy_attributes import LazyAttributes
from penstock.content.value import Value


class Decoder:
    def __init__(self) -> None:
        self.calls = 0

    def read(self, encoded: bytes) -> dict[str, Value]:
        self.calls += 1
        return {"text": encoded.decode(), "n": 1}


def test_nothing_is_decoded_before_the_first_look_and_then_once() -> None:
    decoder = Decoder()
    lazy = LazyAttributes(decoder.read, b"x")
    assert decoder.calls == 0
    assert (lazy["text"], lazy.get("other"), "n" in lazy, len(lazy)) == ("x", None, True, 2)
    assert dict(lazy) == lazy == MappingProxyType({"text": "x", "n": 1})
    assert repr(lazy) == "{'text': 'x', 'n': 1}"
    assert decoder.calls == 1
    with pytest.raises(TypeError):
        cast(Any, lazy)["n"] = 2
