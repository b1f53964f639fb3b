"""The frontier against its slow twin, while filters come and go."""

from __future__ import annotations

import pytest

from penstock.content.covering import covers, minimal
from penstock.content.filter import Filter
from penstock.content.schema import Encoding, Schema
from penstock.content.syntax import parse
from penstock.content.tags import Encoder
from penstock.kernel.seeds import Seeds
from penstock.overlay.sessions.minimal_cover import MinimalCover

FORMS = (
    "a < {}",
    "a >= {} and a < 9",
    "a = {}",
    "exists a",
    "a < {} and b = {}",
    'c prefix "{}"',
    'c prefix "1{}" and a != {}',
    "not exists a",
    "a > {} and a < 3",
)
SCHEMA = Schema({"a": Encoding(width=1.0), "c": Encoding(prefixes=(1, 2))})


@pytest.mark.spec("C9")
@pytest.mark.parametrize("schema", [None, SCHEMA])
@pytest.mark.parametrize("seed", range(6))
def test_it_shows_what_minimal_would(seed: int, schema: Schema | None) -> None:
    rng = Seeds(seed).rng("frontier")
    encoder = Encoder(b"test", schema)
    frontier = MinimalCover(encoder)
    there: dict[Filter, None] = {}
    for _ in range(120):
        values = (rng.randrange(10), rng.randrange(3))
        (f,) = parse(rng.choice(FORMS).format(*values)).filters
        if f in there:
            del there[f]
            frontier.remove(f)
        else:
            there[f] = None
            frontier.add(f)
        shown = frontier.filters()
        assert all(any(covers(wide, f) for wide in shown) for f in there)
        # Of equivalent filters either may be shown, so they are compared by number and bits.
        twin = minimal(there)
        assert len(shown) == len(twin)
        assert sorted(shown.values()) == sorted(map(encoder.filter_bits, twin))
