"""Exact filters and predicates on the wire, as in SUB, TRACK and FEEDBACK.

    predicate   +-------+           filter   +-------+
                | count | filters            | count | constraints
                +-------+                    +-------+
                  1                            1
    constraint  +----+-------+------+---------------------------+
                | op | bytes | name | operand                   |
                +----+-------+------+---------------------------+
                  1    1       bytes  none for (not) exists,
                                      count 1 and values for in,
                                      else one value
    value       +------+
                | 0x00 | false
                | 0x01 | true
                | 0x02 | float     8 bytes, finite, not a whole number of 64 bits
                | 0x03 | string    length 2, bytes
                | 0x1n | integer   n bytes, two's complement, as few as possible
                +------+

Constraints and filters are in canonical order, so equal predicates have equal bytes; a predicate in
any other form is refused.
"""

from struct import Struct
from typing import Final

from penstock.content.constraint import PRESENCE, Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.limits import CHOICES_MAX, CONSTRAINTS_MAX, FILTERS_MAX
from penstock.content.value import Value
from penstock.kernel.errors import PeerError
from penstock.wire.codec.reader import U8, U16, Reader

# Part of the wire format: add, never renumber.
_CODE_OF: Final = {
    Op.EXISTS: 0x00,
    Op.ABSENT: 0x01,
    Op.EQ: 0x02,
    Op.NE: 0x03,
    Op.LT: 0x04,
    Op.LE: 0x05,
    Op.GT: 0x06,
    Op.GE: 0x07,
    Op.IN: 0x08,
    Op.PREFIX: 0x09,
    Op.SUFFIX: 0x0A,
    Op.CONTAINS: 0x0B,
    Op.NOT_PREFIX: 0x0C,
    Op.NOT_SUFFIX: 0x0D,
    Op.NOT_CONTAINS: 0x0E,
}
_OP_OF: Final = {code: op for op, code in _CODE_OF.items()}

_FALSE: Final = 0x00
_TRUE: Final = 0x01
_FLOAT: Final = 0x02
_STRING: Final = 0x03
_INTEGER: Final = 0x10
_INTEGER_BYTES_MAX: Final = 8
_DOUBLE: Final = Struct(">d")


def write_predicate(predicate: Predicate) -> bytes:
    """Encodes a predicate."""
    filters = predicate.filters
    return b"".join([U8.pack(len(filters)), *map(write_filter, filters)])


def write_filter(condition: Filter) -> bytes:
    """Encodes a filter."""
    constraints = condition.constraints
    return b"".join([U8.pack(len(constraints)), *map(_write_constraint, constraints)])


def read_predicate(reader: Reader) -> Predicate:
    """Decodes the predicate at the reader's position."""
    start = reader.position
    count = _read_count(reader, "filters", FILTERS_MAX)
    predicate = Predicate([_read_filter(reader) for _ in range(count)])
    if write_predicate(predicate) != reader.data[start : reader.position]:
        raise PeerError("a predicate is not in its canonical form")
    return predicate


def read_filter(reader: Reader) -> Filter:
    """Decodes the filter at the reader's position."""
    start = reader.position
    condition = _read_filter(reader)
    if write_filter(condition) != reader.data[start : reader.position]:
        raise PeerError("a filter is not in its canonical form")
    return condition


def _read_filter(reader: Reader) -> Filter:
    count = _read_count(reader, "constraints", CONSTRAINTS_MAX)
    return Filter([_read_constraint(reader) for _ in range(count)])


def _write_constraint(constraint: Constraint) -> bytes:
    name, operand = constraint.attribute.encode(), constraint.operand
    parts = [U8.pack(_CODE_OF[constraint.op]), U8.pack(len(name)), name]
    if isinstance(operand, tuple):
        parts += [U8.pack(len(operand)), *map(_write_value, operand)]
    elif operand is not None:
        parts.append(_write_value(operand))
    return b"".join(parts)


def _read_constraint(reader: Reader) -> Constraint:
    code = reader.unpack_one(U8)
    op = _OP_OF.get(code)
    if op is None:
        raise PeerError(f"operator {code:#04x} is not known")
    name = reader.read_text(reader.unpack_one(U8))
    if op in PRESENCE:
        return Constraint(name, op)
    if op is Op.IN:
        count = _read_count(reader, "choices", CHOICES_MAX)
        return Constraint(name, op, tuple([_read_value(reader) for _ in range(count)]))
    return Constraint(name, op, _read_value(reader))


def _write_value(value: Value) -> bytes:
    if type(value) is bool:
        return U8.pack(_TRUE if value else _FALSE)
    if type(value) is float:
        return U8.pack(_FLOAT) + _DOUBLE.pack(value)
    if type(value) is str:
        text = value.encode()
        return U8.pack(_STRING) + U16.pack(len(text)) + text
    assert type(value) is int
    # One bit more than the magnitude, for the sign; -128 takes no more than 127.
    size_bytes = ((value if value >= 0 else ~value).bit_length() >> 3) + 1
    return U8.pack(_INTEGER | size_bytes) + value.to_bytes(size_bytes, "big", signed=True)


def _read_value(reader: Reader) -> Value:
    kind = reader.unpack_one(U8)
    if kind <= _TRUE:
        return kind == _TRUE
    if kind == _FLOAT:
        (value,) = _DOUBLE.unpack(reader.read_bytes(_DOUBLE.size))
        return float(value)
    if kind == _STRING:
        return reader.read_text(reader.unpack_one(U16))
    if _INTEGER < kind <= _INTEGER | _INTEGER_BYTES_MAX:
        return int.from_bytes(reader.read_bytes(kind - _INTEGER), "big", signed=True)
    raise PeerError(f"values of kind {kind:#04x} are not known")


def _read_count(reader: Reader, what: str, count_max: int) -> int:
    count = reader.unpack_one(U8)
    if count > count_max:
        raise PeerError(f"{count} {what}, at most {count_max} are allowed")
    return count
