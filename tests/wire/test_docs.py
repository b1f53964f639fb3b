"""The page that other implementations are written from says what the code does."""

import re
from pathlib import Path

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.wire import FRAMES, decode
from penstock.wire.codec.filter import _CODE_OF
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.sub import Sub

PAGE = Path(__file__).parents[2].joinpath("docs", "wire.md").read_text(encoding="utf-8")


def test_the_table_of_frames_is_complete() -> None:
    written = re.findall(r"^\| (0x\w\w) \| ([A-Z_]+) \| .* \| (\d+) \|$", PAGE, re.MULTILINE)
    assert written == [
        (f"{row.type_code:#04x}", row.name, str(row.bytes_max)) for row in FRAMES.rows
    ]


def test_the_operators_have_the_numbers_it_gives() -> None:
    rows = re.findall(
        r"^\| (\d+) \| (.+?) \| (\d+) \| (.+?) \| (\d+) \| (.+?) \|$", PAGE, re.MULTILINE
    )
    cells = [(int(row[i]), row[i + 1]) for row in rows for i in (0, 2, 4)]
    assert dict(cells) == {code: op.value for op, code in _CODE_OF.items()}


def test_its_examples_are_what_it_says() -> None:
    block = re.search(r"```hex\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    sub, notify = [decode(bytes.fromhex(line)) for line in block[1].splitlines()]
    assert isinstance(sub, Sub)
    assert sub.subscription == 5
    assert sub.predicate == Predicate([Filter([Constraint("a", Op.EQ, 1)])])
    assert isinstance(notify, Notify)
    carried = notify.carried.frame
    assert getattr(carried, "id", None) == (1, 2, 3)
    assert getattr(carried, "send_rate_mps", None) == 6.0
    assert getattr(carried, "message", None) == Message({})
