"""Conversion between the program's units and those of the wire.

The builder of a frame quantises every time and rate here first, so that a run with the codec in the
path equals one without. Knows nothing of frames.
"""

from bisect import bisect_left
from math import copysign, inf, isnan
from struct import Struct
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MICROSECOND, Duration, Instant
from penstock.kernel.sequence import ECHO_STAMP, STAMP

STAMP_BITS: Final = STAMP.bits
ECHO_STAMP_BITS: Final = ECHO_STAMP.bits
DELTA_BITS: Final = 24
HOLD_BITS: Final = 16
STAMP_BYTES: Final = STAMP_BITS // 8
DELTA_BYTES: Final = DELTA_BITS // 8
RATE_MAX_MPS: Final = 65_504.0
# A half-precision number is finite and has no sign just when its first byte is below this.
RATE_FIRST_BYTE_END: Final = 0x7C

_DELTA_NS: Final = 100 * MICROSECOND
_HALF: Final = Struct(">e")

# Twelve codes per octave from 100 µs: neighbouring codes differ by 6 %, the last is 249 s.
ROUND_TRIP_CODES_US: Final = tuple(round(100 * 2 ** (code / 12)) for code in range(256))


def stamp_us(now: Instant, bits: int = STAMP_BITS) -> int:
    """`now` in whole microseconds; wraps, after nine years in 48 bits."""
    return now // MICROSECOND & (1 << bits) - 1


def delta_100us(duration: Duration, bits: int = DELTA_BITS) -> int:
    """The duration in units of 100 µs, rounded to nearest and clamped to the field."""
    return min(max((duration + _DELTA_NS // 2) // _DELTA_NS, 0), (1 << bits) - 1)


def hold_100us(duration: Duration) -> int:
    """The hold time of an echo, in two bytes."""
    return delta_100us(duration, HOLD_BITS)


def delta_ns(delta_100us: int) -> Duration:
    """The duration of a delta or a hold time."""
    return delta_100us * _DELTA_NS


def encode_round_trip(duration: Duration) -> int:
    """The smallest code that is not below `duration`: R_max must never be understated."""
    return min(
        bisect_left(ROUND_TRIP_CODES_US, -(-duration // MICROSECOND)), len(ROUND_TRIP_CODES_US) - 1
    )


def decode_round_trip_ns(code: int) -> Duration:
    """The round-trip time of a code."""
    return ROUND_TRIP_CODES_US[code] * MICROSECOND


def quantise_float16(value: float) -> float:
    """The nearest half-precision number; beyond ±65 504 an infinity."""
    if isnan(value):
        raise UsageError("NaN has no place on the wire: leave the value out")
    try:
        return float(_HALF.unpack(_HALF.pack(value))[0])
    except OverflowError:
        return copysign(inf, value)


def quantise_rate(rate_mps: float) -> float:
    """The nearest rate, in messages per second, that fits two bytes; at most 65 504."""
    if not rate_mps >= 0:
        raise UsageError(f"a rate is zero or more messages per second, not {rate_mps}")
    return quantise_float16(min(rate_mps, RATE_MAX_MPS) + 0.0)


def is_float16(value: float) -> bool:
    """Whether the value survives the wire unchanged."""
    return not isnan(value) and quantise_float16(value) == value


def is_rate(rate_mps: float) -> bool:
    """Whether a rate survives the wire unchanged."""
    try:
        written = _HALF.pack(rate_mps)
    except OverflowError:
        return False
    return written[0] < RATE_FIRST_BYTE_END and bool(_HALF.unpack(written)[0] == rate_mps)
