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
# Flows with these numbers are slowed down; those below are tracked, so that losses are seen.
FIRST_CONTROLLED_FLOW: Final = 1 << 14
# In RECALL: no flow, but the numbers of messages.
ALL_MESSAGES: Final = (1 << FLOW_ID_BITS) - 1
# The most that stands in a REPAIR before its flows: `to` is there, and the original's header.
REPAIR_HEAD_BYTES: Final = 61
# Attributes and payload. A message must fit a REPAIR, which has no record to cut, with all the
# flows that it may come to match: 8 bytes each, and 2 to say where its payload begins.
MESSAGE_BYTES_MAX: Final = FRAME_BYTES_MAX - REPAIR_HEAD_BYTES - 8 * FLOWS_MAX - 2
RECORD_ENTRIES_MAX: Final = 255
ENTRY_BYTES_MAX: Final = 255
BLOOM_BYTES_MAX: Final = 255
FINGERPRINT_BITS: Final = 20
FINGERPRINT_BITS_MAX: Final = 64
DIGEST_FLOWS_MAX: Final = 128
REQUESTED_RANGES_MAX: Final = 64
FEEDBACK_FLOWS_MAX: Final = 64

NEIGHBOURS_MAX: Final = 200
SUMMARY_ROWS_MAX: Final = 160
ADVERT_FILTERS_MAX: Final = 255
DESTINATIONS_MAX: Final = 1_016
TTL_DEFAULT: Final = 32
TTL_BITS: Final = 7
