"""Bounds on all input from users and peers.

They keep every frame within one datagram and every operation linear in sizes that are themselves
small.
"""

from typing import Final

ATTRIBUTES_MAX: Final = 64
NAME_BYTES_MAX: Final = 64
STRING_BYTES_MAX: Final = 1_000
PAYLOAD_BYTES_MAX: Final = 65_535
INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1

CHOICES_MAX: Final = 64
CONSTRAINTS_MAX: Final = 32
FILTERS_MAX: Final = 64
TEXT_CHARS_MAX: Final = 65_536
NESTING_MAX: Final = 64
