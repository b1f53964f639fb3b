"""Bounds on everything that is written, so that a frame fits one datagram.

An Ethernet packet leaves 1472 bytes to UDP over IPv4. A transport frame takes
at most 1400 of them, an overlay frame that carries one 44 more, and 28 are left
for a link that seals what it sends.
"""

from typing import Final

FRAME_BYTES_MAX: Final = 1_400
DATAGRAM_BYTES_MAX: Final = 1_444

FLOWS_MAX: Final = 16
FLOW_ID_BITS: Final = 15
RECORD_ENTRIES_MAX: Final = 255
ENTRY_BYTES_MAX: Final = 255
BLOOM_BYTES_MAX: Final = 255
FINGERPRINT_BITS: Final = 20
FINGERPRINT_BITS_MAX: Final = 64

NEIGHBOURS_MAX: Final = 200
SUMMARY_ROWS_MAX: Final = 160
ADVERT_FILTERS_MAX: Final = 255
DESTINATIONS_MAX: Final = 1_016
TTL_DEFAULT: Final = 32
