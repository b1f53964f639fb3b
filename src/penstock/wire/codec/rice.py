"""Sorted sets of fingerprints in a Rice code.

    +-------------------+------------------------------+
    | r lows            | r highs                      |
    +-------------------+------------------------------+
      k bits each         each as many zeros, then a one

Each member is told by its distance from the one before, less one: the low k
bits side by side, then what is above them in unary. k = w - ⌈log2(r + 1)⌉ for
members of w bits keeps a set within r(k + 3) bits whatever its members, and
near the shortest possible when they are random, as fingerprints are. Everything
is in one large integer, lowest bit first: arithmetic on it is what Python does
in C.
"""

from functools import lru_cache

from penstock.kernel.errors import PeerError, UsageError


# The same message is in the record of the next few, mostly with the same members left to write.
@lru_cache(maxsize=4096)
def write_rice(members: tuple[int, ...], width_bits: int) -> tuple[int, int]:
    """Sorted, distinct numbers as one number, and how many bits that has."""
    if not members:
        return 0, 0
    if members[-1] >> width_bits:
        raise UsageError(f"fingerprint {members[-1]} has more than {width_bits} bits")
    low_bits = _low_bits(len(members), width_bits)
    mask = (1 << low_bits) - 1
    lows = highs = 0
    member = members[-1]
    # From the last to the first, so that the first ends up lowest.
    for previous in (*members[-2::-1], -1):
        distance = member - previous - 1
        member = previous
        lows = lows << low_bits | distance & mask
        highs = (highs << 1 | 1) << (distance >> low_bits)
    lows_bits = len(members) * low_bits
    return highs << lows_bits | lows, lows_bits + highs.bit_length()


def read_rice(stream: int, count: int, width_bits: int) -> tuple[tuple[int, ...], int]:
    """So many numbers from the low end of a stream, and how many bits they had."""
    if not count:
        return (), 0
    low_bits = _low_bits(count, width_bits)
    mask = (1 << low_bits) - 1
    lows_bits = count * low_bits
    zeros = bin(stream >> lows_bits)[:1:-1].split("1", count)
    if len(zeros) <= count:
        raise PeerError(f"record entry: fewer than {count} fingerprints")
    del zeros[count]
    members = []
    member = -1
    for run in zeros:
        member += (len(run) << low_bits | stream & mask) + 1
        stream >>= low_bits
        members.append(member)
    if member >> width_bits:
        raise PeerError(f"record entry: a fingerprint of more than {width_bits} bits")
    return tuple(members), lows_bits + sum(map(len, zeros)) + count


def _low_bits(count: int, width_bits: int) -> int:
    return max(width_bits - count.bit_length(), 0)
