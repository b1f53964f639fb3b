"""The page that other implementations are written from says what the codec of casts does."""

import re
from pathlib import Path

from penstock.wire.codec.cast.cast_codec import CastCodec
from penstock.wire.codec.cast.cast_frames import BODIES, NEIGHBOUR_FRAMES
from penstock.wire.codec.cast.framing import BODY_BYTES_MAX
from penstock.wire.codec.cast.mac import Blake2Sealer
from penstock.wire.codec.cast.symbols import DATA_BYTES_MAX, DATA_TYPE
from penstock.wire.frames.cast.base import Item, Origin
from penstock.wire.frames.cast.header import ALL_FLAGS, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.transfer import FirstRequest

PAGE = Path(__file__).parents[4].joinpath("docs", "wire.md").read_text(encoding="utf-8")
CASTS = PAGE[PAGE.index("## Frames of casts") :]


def test_the_table_of_frames_is_complete() -> None:
    written = re.findall(r"^\| ([A-Z_]+) \| (0x\w\w) \| .* \| (\d+) \|$", CASTS, re.MULTILINE)
    rows = [
        (row.type_code, row.name, row.bytes_max) for row in (*NEIGHBOUR_FRAMES.rows, *BODIES.rows)
    ]
    rows.append((DATA_TYPE, "DATA", DATA_BYTES_MAX))
    assert written == [(name, f"{code:#04x}", str(most)) for code, name, most in sorted(rows)]


def test_a_body_has_the_bound_it_gives() -> None:
    assert f"at most {BODY_BYTES_MAX} bytes" in CASTS.replace("\n", " ")


def test_the_flags_have_the_bits_it_gives() -> None:
    line = re.search(r"^- Flags of a packet: ([^;]*);", CASTS, re.MULTILINE)
    assert line is not None
    assert line[1] == ", ".join([f"{flag.value} {flag.name}" for flag in ALL_FLAGS])


def test_its_example_is_what_it_says() -> None:
    block = re.search(r"```hex\n(.*?)```", CASTS, re.DOTALL)
    assert block is not None
    header = Header(
        ttl=3, choice=2, links=1 << 240 | 1, item=Item(1, 2), segment=4, plan=5, generation=1
    )
    packet = Packet(header=header, body=FirstRequest(child=7), origin=Origin(7, 1, 9))
    assert CastCodec(Blake2Sealer(b"")).decode(bytes.fromhex(block[1])) == packet
