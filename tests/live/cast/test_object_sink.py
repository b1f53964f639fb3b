"""What is received: whole, in any order, false, or in several attempts."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.bloomcast.facts import Verdict
from penstock.kernel.errors import PeerError, UsageError
from penstock.live.cast.object_sink import ObjectSink
from penstock.live.cast.receiving_target import ReceivingTarget
from penstock.wire.frames.cast.base import MANIFEST_BLOCK
from tests.live.cast.objects import (
    BLOCK_SYMBOLS,
    SYMBOL_BYTES,
    announced,
    blocks_of,
    described,
    make_file,
    make_tree,
    send,
    send_all,
    send_block,
    sink_for,
    source_of,
    symbols_of,
)

FALSE = b"\xff" * SYMBOL_BYTES


def left_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("lost", [0, 1, 4, BLOCK_SYMBOLS])
def test_a_file_arrives_with_its_mode_and_time(tmp_path: Path, lost: int) -> None:
    path = make_file(tmp_path / "file")
    path.chmod(0o440)
    source = source_of(path)
    sink = sink_for(source, tmp_path / "into")
    send_all(source, sink, lost=lost)
    assert sink.is_complete
    assert sink.put_in_place() == str(tmp_path / "into/copy")
    assert described(tmp_path / "into/copy") == described(path)
    assert left_in(tmp_path / "into") == ["copy"]


@pytest.mark.parametrize("lost", [0, 3])
def test_a_tree_arrives_with_its_links_and_empty_directories(tmp_path: Path, lost: int) -> None:
    root = make_tree(tmp_path / "tree")
    source = source_of(root)
    sink = sink_for(source, tmp_path / "into")
    send_all(source, sink, lost=lost)
    sink.put_in_place()
    assert described(tmp_path / "into/copy") == described(root)
    assert left_in(tmp_path / "into") == ["copy"]


@settings(max_examples=30)
@given(
    size_bytes=st.integers(0, 8 * SYMBOL_BYTES)
    | st.builds(
        lambda n, off: max(0, n * SYMBOL_BYTES + off), st.integers(0, 9), st.integers(-1, 1)
    ),
    block_symbols=st.integers(1, 5),
    seed=st.integers(0, 1_000),
)
def test_files_of_any_length_arrive_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, size_bytes: int, block_symbols: int, seed: int
) -> None:
    directory = tmp_path_factory.mktemp("any")
    path = make_file(directory / "file", size_bytes, seed=seed)
    source = source_of(path, block_symbols=block_symbols)
    sink = sink_for(source, directory, kept_bytes_max=2 * SYMBOL_BYTES)
    # Enough of each block, whether the manifest comes first or last.
    symbols = [
        (block, number)
        for block in blocks_of(source)
        for number in range(2 * symbols_of(source, block) + 3)
    ]
    Random(seed).shuffle(symbols)
    for block, number in symbols:
        if sink.is_verified(block):
            assert send(source, sink, block, [number]) == 0
        else:
            send(source, sink, block, [number])
            sink.decode(block)
            # Each symbol counts once.
            assert send(source, sink, block, [number]) == 0
    for block in sink.take_waiting():
        assert sink.decode(block) is Verdict.COMPLETE
    assert Path(sink.put_in_place()).read_bytes() == path.read_bytes()
    source.close()


def test_blocks_wait_for_the_manifest(tmp_path: Path) -> None:
    source = source_of(make_file(tmp_path / "file"))
    sink = sink_for(source, tmp_path / "into")
    for block in range(source.layout.blocks):
        send(source, sink, block, range(symbols_of(source, block)))
    assert [sink.decode(block) for block in (3, 1, 3)] == [None] * 3
    send_block(source, sink, MANIFEST_BLOCK)
    assert sink.manifest == source.manifest
    assert sink.take_waiting() == [3, 1]
    assert sink.take_waiting() == []
    assert sink.decode(3) is Verdict.COMPLETE
    assert sink.decode(3) is Verdict.COMPLETE
    sink.close()


def test_a_false_repair_symbol_costs_only_the_repair_symbols(tmp_path: Path) -> None:
    path = make_file(tmp_path / "file")
    source = source_of(path)
    sink = sink_for(source, tmp_path / "into")
    send_block(source, sink, MANIFEST_BLOCK)
    count = symbols_of(source, 0)
    send(source, sink, 0, range(2, count))
    assert sink.add(0, [count], [FALSE]) == 1
    assert sink.decode(0) is Verdict.UNDECODED
    send(source, sink, 0, [count + 1])
    assert sink.decode(0) is Verdict.POISONED
    assert sink.missing(0) == [(0, 2)]
    # The true one is gone, too, and each may come again.
    assert send(source, sink, 0, [0, count, count + 1]) == 3
    assert sink.decode(0) is Verdict.COMPLETE
    assert sink.missing(0) == []
    for block in range(1, source.layout.blocks):
        send_block(source, sink, block)
    assert Path(sink.put_in_place()).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("block", [0, MANIFEST_BLOCK])
def test_a_false_source_symbol_costs_the_block(tmp_path: Path, block: int) -> None:
    # Zeros, which are not written where nothing was.
    path = tmp_path / "file"
    path.write_bytes(bytes(10_000))
    source = source_of(path)
    sink = sink_for(source, tmp_path / "into")
    if block != MANIFEST_BLOCK:
        send_block(source, sink, MANIFEST_BLOCK)
    count = symbols_of(source, block)
    sink.add(block, [1], [FALSE])
    send(source, sink, block, [0, *range(2, count)])
    assert sink.decode(block) is Verdict.POISONED
    assert sink.missing(block) == [(0, count)]
    for each in blocks_of(source):
        if not sink.is_verified(each):
            send_block(source, sink, each)
    assert Path(sink.put_in_place()).read_bytes() == path.read_bytes()


def test_a_false_source_symbol_among_true_repair_symbols_ends_in_the_truth(tmp_path: Path) -> None:
    source = source_of(make_file(tmp_path / "file"))
    sink = sink_for(source, tmp_path / "into")
    send_block(source, sink, MANIFEST_BLOCK)
    count = symbols_of(source, 0)
    sink.add(0, [1], [FALSE])
    send(source, sink, 0, range(2, count + 2))
    verdicts = [sink.decode(0)]
    while (verdict := verdicts[-1]) is not Verdict.COMPLETE:
        assert verdict is Verdict.POISONED
        assert len(verdicts) < 4
        for start, stop in sink.missing(0):
            send(source, sink, 0, range(start, stop))
        verdicts.append(sink.decode(0))
    sink.close()


def test_symbols_that_come_while_their_block_is_decoded_are_not_lost(tmp_path: Path) -> None:
    source = source_of(make_file(tmp_path / "file"))
    sink = sink_for(source, tmp_path / "into")
    send_block(source, sink, MANIFEST_BLOCK)
    count = symbols_of(source, 0)
    send(source, sink, 0, range(3, count))
    decoding = sink.decoding(0)
    assert decoding is not None
    # Whatever comes now is not written below the hands of who decodes.
    assert send(source, sink, 0, [0, 1, count]) == 3
    assert send(source, sink, 0, [0, 1, 3, count]) == 0
    # As in another process.
    verdict = pickle.loads(pickle.dumps(decoding)).run()
    sink.conclude(0, verdict)
    assert verdict is Verdict.UNDECODED
    assert sink.decode(0) in (Verdict.COMPLETE, Verdict.UNDECODED)
    send(source, sink, 0, [count + 1, count + 2])
    assert sink.decode(0) is Verdict.COMPLETE
    assert sink.read(0) == (tmp_path / "file").read_bytes()[: source.layout.bytes_of(0)]
    sink.close()


def test_what_comes_while_a_poisoned_block_is_decoded_is_kept(tmp_path: Path) -> None:
    source = source_of(make_file(tmp_path / "file"))
    sink = sink_for(source, tmp_path / "into")
    send_block(source, sink, MANIFEST_BLOCK)
    count = symbols_of(source, 0)
    send(source, sink, 0, range(3, count))
    sink.add(0, range(count, count + 6), [FALSE] * 6)
    decoding = sink.decoding(0)
    assert decoding is not None
    send(source, sink, 0, [0, 2, count + 9])
    verdict = decoding.run()
    assert verdict is Verdict.POISONED
    sink.conclude(0, verdict)
    assert sink.missing(0) == [(1, 2)]
    send(source, sink, 0, [1])
    assert sink.decode(0) is Verdict.COMPLETE
    sink.close()


def test_nothing_is_written_to_a_block_that_is_being_checked(tmp_path: Path) -> None:
    source = source_of(make_file(tmp_path / "file"))
    sink = sink_for(source, tmp_path / "into")
    send_block(source, sink, MANIFEST_BLOCK)
    count = symbols_of(source, 0)
    send(source, sink, 0, range(1, count + 3))
    decoding = sink.decoding(0)
    assert decoding is not None
    assert decoding.run() is Verdict.COMPLETE
    sink.add(0, [0], [FALSE])
    sink.conclude(0, Verdict.COMPLETE)
    sink.add(0, [0], [FALSE])
    assert sink.read(0) == (tmp_path / "file").read_bytes()[: source.layout.bytes_of(0)]
    sink.close()


def test_repair_symbols_spill_into_a_file_and_are_bounded(tmp_path: Path) -> None:
    path = make_file(tmp_path / "file")
    source = source_of(path)
    sink = sink_for(source, tmp_path / "into", kept_bytes_max=5 * SYMBOL_BYTES)
    blocks = range(source.layout.blocks)
    for block in blocks:
        count = symbols_of(source, block)
        assert send(source, sink, block, range(count, count + 100)) == count + 16
    spilled = tmp_path / "into/copy.part.symbols"
    kept = sum(symbols_of(source, block) + 16 for block in blocks)
    assert spilled.stat().st_size == (kept - 5) * SYMBOL_BYTES
    send_block(source, sink, MANIFEST_BLOCK)
    assert {sink.decode(block) for block in blocks} == {Verdict.COMPLETE}
    sink.put_in_place()
    assert (tmp_path / "into/copy").read_bytes() == path.read_bytes()
    assert left_in(tmp_path / "into") == ["copy"]


def test_zeros_take_no_room(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    os.truncate(path, 4 << 20)
    source = source_of(path, block_symbols=10_000)
    sink = sink_for(source, tmp_path / "into")
    send_all(source, sink)
    sink.put_in_place()
    assert (tmp_path / "into/copy").stat().st_blocks * 512 < 1 << 20
    assert (tmp_path / "into/copy").read_bytes() == bytes(4 << 20)


def test_another_attempt_goes_on_with_the_blocks_that_are_verified(tmp_path: Path) -> None:
    path = make_file(tmp_path / "file")
    source = source_of(path)
    sink = sink_for(source, tmp_path / "into")
    assert sink.resume() == []
    for block in (MANIFEST_BLOCK, 0, 2, 9, 12):
        send_block(source, sink, block)
    send(source, sink, 1, [0, 1])
    with pytest.raises(UsageError, match="another process receives"):
        sink_for(source, tmp_path / "into")
    # As if killed.
    sink.close()
    with (tmp_path / "into/copy.part").open("r+b") as part:
        part.seek(9 * BLOCK_SYMBOLS * SYMBOL_BYTES)
        part.write(b"damaged")
    sink = sink_for(source, tmp_path / "into")
    assert sink.verified_blocks == 0, "nothing is believed"
    told: list[tuple[int, int]] = []
    assert sink.resume(lambda done, total: told.append((done, total))) == [0, 2, 12]
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert sink.manifest == source.manifest
    assert sink.missing(1) == [(0, BLOCK_SYMBOLS)]
    for block in range(source.layout.blocks):
        if not sink.is_verified(block):
            send_block(source, sink, block, lost=2)
    sink.put_in_place()
    assert (tmp_path / "into/copy").read_bytes() == path.read_bytes()


def test_without_its_manifest_an_earlier_attempt_is_worth_nothing(tmp_path: Path) -> None:
    source = source_of(make_file(tmp_path / "file"))
    sink = sink_for(source, tmp_path / "into")
    send(source, sink, MANIFEST_BLOCK, [0])
    sink.close()
    sink = sink_for(source, tmp_path / "into")
    assert sink.resume() == []
    assert not sink.is_verified(MANIFEST_BLOCK)
    send_all(source, sink)
    sink.put_in_place()


def test_an_attempt_at_another_object_begins_anew(tmp_path: Path) -> None:
    first = source_of(make_file(tmp_path / "file", 5_000))
    sink = sink_for(first, tmp_path / "into")
    send_all(first, sink)
    sink.close()
    # Longer, and zeros where the other one has none.
    (tmp_path / "other").write_bytes(bytes(6_000))
    second = source_of(tmp_path / "other")
    sink = sink_for(second, tmp_path / "into")
    assert sink.resume() == []
    send_all(second, sink)
    assert Path(sink.put_in_place()).read_bytes() == bytes(6_000)


def test_state_reaches_the_disk_at_most_every_two_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[float] = []
    now = [0.0]
    monkeypatch.setattr(os, "fdatasync", lambda _fd: synced.append(now[0]))
    source = source_of(make_file(tmp_path / "file"))
    sink = sink_for(source, tmp_path / "into", clock=lambda: now[0])
    for block in blocks_of(source):
        send_block(source, sink, block)
        sink.sync()
        now[0] += 0.5
    assert synced == [2.0, 4.0, 6.0, 8.0]
    now[0] += 10
    sink.sync()
    sink.sync()
    assert len(synced) == 4, "nothing has changed"
    sink.close()


def test_what_is_there_is_not_replaced_unless_that_is_wanted(tmp_path: Path) -> None:
    source = source_of(make_file(tmp_path / "file"))
    (tmp_path / "copy").write_text("mine")
    with pytest.raises(UsageError, match="exists: add --overwrite"):
        sink_for(source, tmp_path)
    sink = sink_for(source, tmp_path, overwrite=True)
    send_all(source, sink)
    assert (tmp_path / "copy").read_text() == "mine"
    sink.put_in_place()
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "file").read_bytes()


def test_what_appears_meanwhile_is_not_replaced_either(tmp_path: Path) -> None:
    source = source_of(make_file(tmp_path / "file"))
    sink = sink_for(source, tmp_path)
    send_all(source, sink)
    (tmp_path / "copy").write_text("mine")
    with pytest.raises(UsageError, match="exists: add --overwrite"):
        sink.put_in_place()
    (tmp_path / "copy").unlink()
    sink.put_in_place()


def test_a_tree_replaces_a_tree_as_a_whole(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "tree")
    (tmp_path / "into/copy").mkdir(parents=True)
    (tmp_path / "into/copy/old").write_text("old")
    # What a killed attempt has left.
    (tmp_path / "into/copy.part.tree").mkdir()
    (tmp_path / "into/copy.part.tree/half").write_text("half")
    source = source_of(root)
    sink = sink_for(source, tmp_path / "into", overwrite=True)
    send_all(source, sink)
    sink.put_in_place()
    assert described(tmp_path / "into/copy") == described(root)
    assert left_in(tmp_path / "into") == ["copy"]


def test_files_and_directories_do_not_replace_each_other(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    source = source_of(make_file(tmp_path / "file"))
    sink = sink_for(source, tmp_path, overwrite=True)
    with pytest.raises(UsageError, match="is a directory: remove it first"):
        send_block(source, sink, MANIFEST_BLOCK)
    sink.close()
    (tmp_path / "copy").rmdir()
    (tmp_path / "copy").symlink_to(make_tree(tmp_path / "tree"))
    source = source_of(tmp_path / "tree")
    sink = sink_for(source, tmp_path, overwrite=True)
    with pytest.raises(UsageError, match="is no directory: remove it first"):
        send_block(source, sink, MANIFEST_BLOCK)
    sink.close()


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    source = source_of(make_file(tmp_path / "file"))
    for name in ("copy.part", "copy.part.state"):
        into = tmp_path / f"into {name}"
        into.mkdir()
        if name == "copy.part":
            sink_for(source, into).close()
            (into / name).unlink()
        (into / name).symlink_to(tmp_path / "precious")
        with pytest.raises(UsageError, match="cannot receive"):
            sink_for(source, into)
    # What a file replaces is the link itself.
    (tmp_path / "copy").symlink_to(tmp_path / "precious")
    sink = sink_for(source, tmp_path, overwrite=True)
    send_all(source, sink)
    sink.put_in_place()
    assert not (tmp_path / "copy").is_symlink()
    assert (tmp_path / "precious").read_text() == "mine"


def test_files_of_others_are_not_touched(tmp_path: Path) -> None:
    source = source_of(make_file(tmp_path / "file"))
    for name in ("copy.part", "copy.part.state"):
        into = tmp_path / f"into {name}"
        into.mkdir()
        (into / name).write_text("somebody else's")
        with pytest.raises(UsageError, match=f"{name} is in the way: remove it"):
            sink_for(source, into)
        assert (into / name).read_text() == "somebody else's"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "a\0", "é" * 121])
def test_names_that_leave_the_directory_are_refused(tmp_path: Path, name: str) -> None:
    source = source_of(make_file(tmp_path / "file"))
    with pytest.raises(UsageError, match="name the item otherwise"):
        sink_for(source, tmp_path / "into", name)
    assert left_in(tmp_path / "into") == []


def test_symbols_that_cannot_be_are_refused(tmp_path: Path) -> None:
    source = source_of(make_file(tmp_path / "file"))
    sink = sink_for(source, tmp_path / "into")
    for block, number, payload in [
        (source.layout.blocks, 0, FALSE),
        (MANIFEST_BLOCK - 1, 0, FALSE),
        (0, 0, FALSE[1:]),
        (0, 1 << 24, FALSE),
    ]:
        with pytest.raises(PeerError):
            sink.add(block, [number], [payload])
    sink.close()
    target = ReceivingTarget(tmp_path / "into", "copy")
    with pytest.raises(PeerError, match="manifest of 0 bytes"):
        ObjectSink(target, replace(announced(source), manifest_bytes=0))
    target.close()
    with pytest.raises(UsageError, match="is no directory: create it first"):
        ReceivingTarget(tmp_path / "file", "copy")


def test_a_file_that_changes_while_it_is_sent_replaces_nothing(tmp_path: Path) -> None:
    path = make_file(tmp_path / "file")
    source = source_of(path)
    sink = sink_for(source, tmp_path / "into")
    send_block(source, sink, MANIFEST_BLOCK)
    send_block(source, sink, 0)
    path.write_bytes(path.read_bytes() + b"!")
    with pytest.raises(UsageError, match=f"^{path} has changed: run the command again"):
        send_block(source, sink, 1)
    sink.close()
    assert left_in(tmp_path / "into") == ["copy.part", "copy.part.state"]
