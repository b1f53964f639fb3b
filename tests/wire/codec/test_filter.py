import struct

import pytest
from hypothesis import given

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.kernel.errors import PeerError
from penstock.wire.codec.filter import (
    _CODE_OF,
    read_filter,
    read_predicate,
    write_filter,
    write_predicate,
)
from penstock.wire.codec.reader import Reader
from tests.content.strategies import filters, predicates


@given(predicates())
def test_a_predicate_round_trips(predicate: Predicate) -> None:
    reader = Reader(write_predicate(predicate), 0)
    assert read_predicate(reader) == predicate
    reader.expect_end()


@given(filters())
def test_a_filter_round_trips(condition: Filter) -> None:
    reader = Reader(write_filter(condition), 0)
    assert read_filter(reader) == condition
    reader.expect_end()


def test_equal_predicates_are_written_equally() -> None:
    cheap = Constraint("price", Op.LT, 120.0)
    named = Constraint("symbol", Op.IN, ("IBM", "AMD", "IBM"))
    one = Predicate([Filter([cheap, named]), Filter([Constraint("a", Op.EXISTS)])])
    other = Predicate(
        [
            Filter([Constraint("a", Op.EXISTS)]),
            Filter(
                [
                    Constraint("symbol", Op.IN, ("AMD", "IBM")),
                    Constraint("price", Op.LT, 120),
                    cheap,
                ]
            ),
        ]
    )
    assert one == other
    assert write_predicate(one) == write_predicate(other)


def test_every_operator_has_a_number() -> None:
    assert set(_CODE_OF) == set(Op)
    assert sorted(_CODE_OF.values()) == list(range(len(Op)))


def test_the_bytes_are_those_of_the_picture() -> None:
    condition = Filter(
        [
            Constraint("a", Op.EXISTS),
            Constraint("b", Op.EQ, True),
            Constraint("c", Op.IN, (-129, 127, "x")),
            Constraint("d", Op.GE, 0.5),
        ]
    )
    assert write_predicate(Predicate([condition])) == (
        b"\x01\x04"
        b"\x00\x01a"
        b"\x02\x01b\x01"
        b"\x08\x01c\x03\x12\xff\x7f\x11\x7f\x03\x00\x01x"
        b"\x07\x01d\x02" + struct.pack(">d", 0.5)
    )


@pytest.mark.parametrize(
    ("value", "size_bytes"),
    [(0, 1), (127, 1), (128, 2), (-128, 1), (-129, 2), (2**63 - 1, 8), (-(2**63), 8)],
)
def test_integers_take_as_few_bytes_as_will_do(value: int, size_bytes: int) -> None:
    written = write_filter(Filter([Constraint("a", Op.EQ, value)]))
    assert len(written) == 1 + 3 + 1 + size_bytes


MALFORMED = {
    "nothing": b"",
    "65 filters": b"\x41",
    "33 constraints": b"\x01\x21",
    "fewer filters than said": b"\x02\x00",
    "an unknown operator": b"\x01\x01\x0f\x01a",
    "a name of no bytes": b"\x01\x01\x00\x00",
    "a name of 65 bytes": b"\x01\x01\x00\x41" + b"n" * 65,
    "a name past the end": b"\x01\x01\x00\xffa",
    "a name that is not UTF-8": b"\x01\x01\x00\x01\xff",
    "a value of unknown kind": b"\x01\x01\x02\x01a\x04",
    "an integer of no bytes": b"\x01\x01\x02\x01a\x10",
    "an integer of nine bytes": b"\x01\x01\x02\x01a\x19" + bytes(9),
    "an integer longer than need be": b"\x01\x01\x02\x01a\x12\x00\x01",
    "a whole float": b"\x01\x01\x02\x01a\x02" + struct.pack(">d", 1.0),
    "a negative zero": b"\x01\x01\x02\x01a\x02" + struct.pack(">d", -0.0),
    "a float that is NaN": b"\x01\x01\x02\x01a\x02" + struct.pack(">d", float("nan")),
    "a float that is infinite": b"\x01\x01\x02\x01a\x02" + struct.pack(">d", float("inf")),
    "a float cut short": b"\x01\x01\x02\x01a\x02\x00",
    "a string past the end": b"\x01\x01\x02\x01a\x03\xff\xffx",
    "a string of 1001 bytes": b"\x01\x01\x02\x01a\x03\x03\xe9" + b"x" * 1001,
    "a string with a surrogate": b"\x01\x01\x02\x01a\x03\x00\x03\xed\xa0\x80",
    "an ordered boolean": b"\x01\x01\x04\x01a\x01",
    "a prefix that is no string": b"\x01\x01\x09\x01a\x11\x01",
    "an empty prefix": b"\x01\x01\x09\x01a\x03\x00\x00",
    "in of nothing": b"\x01\x01\x08\x01a\x00",
    "in of 65": b"\x01\x01\x08\x01a\x41" + b"\x01" * 65,
    "in out of order": b"\x01\x01\x08\x01a\x02\x11\x02\x11\x01",
    "in with a choice twice": b"\x01\x01\x08\x01a\x02\x11\x01\x11\x01",
    "constraints out of order": b"\x01\x02\x00\x01b\x00\x01a",
    "a constraint twice": b"\x01\x02\x00\x01a\x00\x01a",
    "filters out of order": b"\x02\x01\x00\x01a\x00",
    "a filter twice": b"\x02\x00\x00",
}


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in MALFORMED.items()])
def test_malformed_predicates_are_refused(data: bytes) -> None:
    from penstock.wire import decode

    with pytest.raises(PeerError, match=r"^SUB: [^\n]+$"):
        decode(b"\x01\x50\x00\x00\x00\x01\x00" + data)
