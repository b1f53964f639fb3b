"""Bounds on all fields, so that a frame fits one datagram.

An Ethernet packet leaves 1472 bytes to UDP over IPv4. A transport frame takes at most 1400 of them,
an overlay frame that carries one 44 more, and 28 are left for links that encrypt.
"""

from typing import Final

FRAME_BYTES_MAX: Final = 1_400
DATAGRAM_BYTES_MAX: Final = 1_444

FLOWS_MAX: Final = 16
FLOW_ID_BITS: Final = 15
# Flow ids from here on are rate-controlled; those below are tracked for loss detection.
FIRST_CONTROLLED_FLOW: Final = 1 << 14
# In RECALL: the numbers are those of messages, not of a flow.
ALL_MESSAGES: Final = (1 << FLOW_ID_BITS) - 1
# The most bytes of a REPAIR before its flows: with `to`, and the original's header.
REPAIR_HEAD_BYTES: Final = 61
# Attributes and payload. A message must fit a REPAIR, which has no record to truncate, with all
# flows that it may come to match: 8 bytes each, and 2 for the length of the attributes.
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
