"""Small files and trees, and transfers of them without any network."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from time import monotonic

from penstock.bloomcast.coding.block_layout import BlockLayout
from penstock.bloomcast.facts import Verdict
from penstock.kernel.errors import UsageError
from penstock.live.cast.object_sink import KEPT_BYTES_MAX, ObjectSink
from penstock.live.cast.object_source import ObjectSource
from penstock.live.cast.part_state import PartObject
from penstock.live.cast.receiving_target import ReceivingTarget
from penstock.wire.frames.cast.base import MANIFEST_BLOCK

SYMBOL_BYTES = 64
BLOCK_SYMBOLS = 10


def make_file(path: Path, size_bytes: int = 10_000, *, seed: int = 1) -> Path:
    path.write_bytes(Random(seed).randbytes(size_bytes))
    return path


def make_tree(root: Path) -> Path:
    (root / "sub/deeper").mkdir(parents=True)
    (root / "empty").mkdir()
    make_file(root / "large", 3_000)
    make_file(root / "sub/small", 7)
    (root / "sub/none").write_bytes(b"")
    (root / "sub/deeper/last é").write_text("x")
    (root / "link").symlink_to("sub/small")
    (root / "sub/outside").symlink_to("/etc/passwd")
    (root / "dangling").symlink_to("nowhere")
    (root / "large").chmod(0o751)
    (root / "sub").chmod(0o700)
    os.utime(root / "sub/small", ns=(5, 1_234_567_890_123_456_789))
    return root


def described(root: Path) -> dict[str, object]:
    """All of a file or tree that a cast carries."""
    found: dict[str, object] = {}
    for path in [root, *sorted(root.rglob("*"))]:
        status = path.lstat()
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = path.readlink()
        elif path.is_dir():
            found[name] = oct(status.st_mode)
        else:
            found[name] = oct(status.st_mode), status.st_mtime_ns, path.read_bytes()
    return found


def source_of(path: Path, *, block_symbols: int = BLOCK_SYMBOLS) -> ObjectSource:
    return ObjectSource.of(path, symbol_bytes=SYMBOL_BYTES, block_symbols=block_symbols)


def sink_for(
    source: ObjectSource,
    directory: Path,
    name: str = "copy",
    *,
    overwrite: bool = False,
    kept_bytes_max: int = KEPT_BYTES_MAX,
    clock: Callable[[], float] = monotonic,
) -> ObjectSink:
    directory.mkdir(exist_ok=True)
    target = ReceivingTarget(directory, name, overwrite=overwrite, clock=clock)
    try:
        return ObjectSink(target, announced(source), kept_bytes_max=kept_bytes_max)
    except UsageError:
        target.close()
        raise


def announced(source: ObjectSource) -> PartObject:
    return PartObject(source.object_id, source.layout, len(source.manifest_data))


def layout_of(source: ObjectSource, block: int) -> tuple[BlockLayout, int]:
    return (source.manifest_layout, 0) if block == MANIFEST_BLOCK else (source.layout, block)


def blocks_of(source: ObjectSource) -> list[int]:
    """The manifest comes first."""
    return [MANIFEST_BLOCK, *range(source.layout.blocks)]


def symbols_of(source: ObjectSource, block: int) -> int:
    layout, index = layout_of(source, block)
    return layout.symbols_of(index)


def send(source: ObjectSource, sink: ObjectSink, block: int, numbers: Iterable[int]) -> int:
    chosen = list(numbers)
    return sink.add(block, chosen, source.symbols(block, chosen))


def send_block(source: ObjectSource, sink: ObjectSink, block: int, *, lost: int = 0) -> None:
    """Sends a block whose first symbols are lost; repair symbols stand in for them."""
    count = symbols_of(source, block)
    stop = count
    send(source, sink, block, range(min(lost, count), count))
    while sink.decode(block) is Verdict.UNDECODED:
        send(source, sink, block, range(stop, stop + min(lost, count)))
        stop += min(lost, count)


def send_all(source: ObjectSource, sink: ObjectSink, *, lost: int = 0) -> None:
    for block in blocks_of(source):
        send_block(source, sink, block, lost=lost)
