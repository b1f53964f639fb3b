"""Bounded dictionaries against the naive twin: a list of pairs, oldest first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.bounded import BoundedBytesDict, BoundedDict

Pair = tuple[str, int]
Step = tuple[str, str, int]
VERBS = ["set", "setdefault", "update", "use", "get", "pop", "popitem", "del", "make_room", "clear"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*VERBS, "set", "set", "resize"]),
        st.sampled_from("abcdef"),
        st.integers(0, 9),
    ),
    max_size=60,
)


class Naive:
    """Pairs, oldest first; `max_bytes` bounds the sum of the values."""

    def __init__(self, most: int, *, recent: bool, max_bytes: int = 1_000) -> None:
        self.most, self.recent, self.max_bytes = most, recent, max_bytes
        self.pairs: list[Pair] = []
        self.gone: list[Pair] = []

    def keys(self) -> list[str]:
        return [key for key, _ in self.pairs]

    def value(self, key: str) -> int | None:
        return dict(self.pairs).get(key)

    def evict_while(self, key: str, size: int) -> None:
        others = [pair for pair in self.pairs if pair[0] != key]
        while sum(value for _, value in others) + size > self.max_bytes:
            self.gone.append(others[0])
            self.pairs.remove(others.pop(0))

    def make_room(self, key: str) -> None:
        while len(self.pairs) >= self.most and key not in self.keys():
            self.gone.append(self.pairs.pop(0))

    def set(self, key: str, value: int) -> None:
        self.evict_while(key, value)
        self.make_room(key)
        if key not in self.keys():
            self.pairs.append((key, value))
        else:
            self.pairs[self.keys().index(key)] = key, value
            if self.recent:
                self.refresh(key)

    def refresh(self, key: str) -> None:
        self.pairs.append(self.pairs.pop(self.keys().index(key)))

    def remove(self, key: str) -> None:
        self.pairs = [pair for pair in self.pairs if pair[0] != key]

    def resize(self, most: int) -> None:
        self.most = most
        while len(self.pairs) > most:
            self.gone.append(self.pairs.pop(0))


def do(bounded: BoundedDict[str, int], naive: Naive, step: Step) -> None:
    verb, key, value = step
    had = naive.value(key)
    if verb == "set":
        bounded[key] = value
        naive.set(key, value)
    elif verb == "setdefault":
        assert bounded.setdefault(key, value) == (value if had is None else had)
        if had is None:
            naive.set(key, value)
    elif verb == "update":
        bounded.update({key: value, "z": 1})
        naive.set(key, value)
        naive.set("z", 1)
    elif verb == "use":
        assert bounded.use(key) == had
        if had is not None:
            naive.refresh(key)
    elif verb == "get":
        assert (bounded.get(key), key in bounded) == (had, had is not None)
    elif verb == "pop":
        assert bounded.pop(key, -1) == (-1 if had is None else had)
        naive.remove(key)
    elif verb == "popitem" and naive.pairs:
        last = value % 2
        assert bounded.popitem(last=bool(last)) == naive.pairs.pop(-last)
    elif verb == "del" and had is not None:
        del bounded[key]
        naive.remove(key)
    elif verb == "make_room":
        before = len(naive.gone)
        naive.make_room(key)
        gone = naive.gone[before:]
        assert bounded.make_room(key) == (gone[0] if gone else None)
    elif verb == "clear":
        bounded.clear()
        naive.pairs.clear()
    elif verb == "resize":
        bounded.resize(1 + value % 5)
        naive.resize(1 + value % 5)


@given(STEPS, st.integers(1, 5), st.booleans())
def test_a_bounded_dictionary_agrees_with_a_list(
    steps: list[Step], most: int, recent: bool
) -> None:
    gone: list[Pair] = []
    bounded: BoundedDict[str, int] = BoundedDict(
        most, recent=recent, on_evict=lambda key, value: gone.append((key, value))
    )
    naive = Naive(most, recent=recent)
    for step in steps:
        do(bounded, naive, step)
        assert list(bounded.items()) == naive.pairs
        assert gone == naive.gone
        assert bounded.evicted == len(gone)
        assert len(bounded) <= bounded.max_entries


@given(STEPS, st.integers(1, 5), st.integers(9, 20), st.booleans())
def test_one_bounded_in_bytes_agrees_with_a_list(
    steps: list[Step], most: int, max_bytes: int, recent: bool
) -> None:
    gone: list[Pair] = []
    bounded: BoundedBytesDict[str, int] = BoundedBytesDict(
        most,
        max_bytes=max_bytes,
        size_of=lambda value: value,
        recent=recent,
        on_evict=lambda key, value: gone.append((key, value)),
    )
    naive = Naive(most, recent=recent, max_bytes=max_bytes)
    for step in steps:
        do(bounded, naive, step)
        assert list(bounded.items()) == naive.pairs
        assert gone == naive.gone
        assert bounded.size_bytes == sum(value for _, value in naive.pairs) <= max_bytes


def test_room_is_made_before_an_entry_goes_in() -> None:
    seen: list[list[int]] = []
    bounded: BoundedDict[int, None] = BoundedDict(2, on_evict=lambda *_: seen.append([*bounded]))
    for number in range(4):
        bounded[number] = None
    assert seen == [[1], [2]]
    assert list(bounded) == [2, 3]


@pytest.mark.parametrize(("recent", "left"), [(False, [2, 3]), (True, [1, 3])])
def test_setting_refreshes_if_asked_and_reading_never(recent: bool, left: list[int]) -> None:
    bounded: BoundedDict[int, str] = BoundedDict(2, recent=recent)
    bounded[1] = bounded[2] = "old"
    bounded[1] = "new"
    assert (bounded[2], bounded.get(2), 2 in bounded) == ("old", "old", True)
    bounded[3] = "old"
    assert list(bounded) == left


def test_using_refreshes_an_entry_whose_value_is_none() -> None:
    bounded: BoundedDict[int, None] = BoundedDict(2)
    bounded[1] = bounded[2] = None
    assert bounded.use(1) is None
    assert bounded.use(9) is None
    assert list(bounded) == [2, 1]


def test_an_entry_of_one_is_replaced_by_the_next() -> None:
    bounded: BoundedDict[int, int] = BoundedDict(1)
    bounded[1] = 1
    bounded[1] = 2
    assert bounded.evicted == 0
    bounded[2] = 3
    assert (dict(bounded), bounded.evicted) == ({2: 3}, 1)


def test_what_is_deleted_was_not_evicted() -> None:
    bounded: BoundedDict[int, int] = BoundedDict(2)
    bounded[1] = bounded[2] = 0
    del bounded[1]
    bounded.pop(2)
    assert bounded.evicted == 0


def test_an_entry_that_grows_drives_others_out_but_not_itself() -> None:
    bounded: BoundedBytesDict[str, bytearray] = BoundedBytesDict(9, max_bytes=10, size_of=len)
    for key in "abc":
        bounded[key] = bytearray(3)
    bounded["a"].extend(bytes(3))
    bounded.measure("a")
    assert (list(bounded), bounded.size_bytes) == (["a", "c"], 9)
    bounded["a"].extend(bytes(20))
    bounded.measure("a")
    assert (list(bounded), bounded.size_bytes, bounded.evicted) == (["a"], 26, 2)
    del bounded["a"]
    assert bounded.size_bytes == 0


def test_what_exactly_fits_does() -> None:
    bounded: BoundedBytesDict[str, bytes] = BoundedBytesDict(9, max_bytes=10, size_of=len)
    bounded["a"] = bytes(4)
    bounded["b"] = bytes(6)
    assert bounded.evicted == 0
    bounded["c"] = bytes(10)
    assert (list(bounded), bounded.evicted) == (["c"], 2)
    assert bounded.fits(bytes(10))
    assert not bounded.fits(bytes(11))


def test_misuse_is_our_own_bug() -> None:
    for most in (0, -1):
        with pytest.raises(AssertionError):
            BoundedDict(most)
        with pytest.raises(AssertionError):
            BoundedDict(1).resize(most)
    with pytest.raises(AssertionError):
        # As `copy` would.
        BoundedDict({1: 2})  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        BoundedBytesDict(1, max_bytes=0, size_of=len)
    with pytest.raises(KeyError):
        BoundedDict(1).evict()
    sized: BoundedBytesDict[int, bytes] = BoundedBytesDict(1, max_bytes=1, size_of=len)
    with pytest.raises(AssertionError):
        sized[0] = bytes(2)
    assert not sized
