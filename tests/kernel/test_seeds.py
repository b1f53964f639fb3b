"""Seeds depend on their names alone."""

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND, seconds, to_seconds
from penstock.kernel.seeds import Seeds


def test_the_same_name_gives_the_same_draws() -> None:
    draws = [Seeds(1).rng("link", "B1-B2", "loss").random() for _ in range(2)]
    assert draws[0] == draws[1]
    arrays = [Seeds(1).generator("delays").random(4).tolist() for _ in range(2)]
    assert arrays[0] == arrays[1]


def test_names_and_roots_are_kept_apart() -> None:
    numbers = [
        Seeds(1).derived_seed("ab", "c"),
        Seeds(1).derived_seed("a", "bc"),
        Seeds(1).derived_seed("abc"),
        Seeds(2).derived_seed("abc"),
        Seeds(1).derived_seed(),
        Seeds(11).derived_seed(),
        Seeds(1).derived_seed("1"),
    ]
    assert len(set(numbers)) == len(numbers)


def test_a_child_is_the_same_as_the_longer_path() -> None:
    assert Seeds(5).child("link").derived_seed("loss") == Seeds(5).derived_seed("link", "loss")


def test_the_tree_is_pinned() -> None:
    """A change of the derivation would silently change every simulation."""
    assert Seeds(42).derived_seed("link", "B1-B2", "loss") == PINNED


def test_seconds_round_to_nanoseconds() -> None:
    assert seconds(0.1) == 100_000_000
    assert to_seconds(3 * SECOND) == 3.0
    with pytest.raises(UsageError, match="finite"):
        seconds(float("nan"))
    with pytest.raises(UsageError, match="finite"):
        seconds(float("inf"))


PINNED = 8706203817775973136
