"""The simulated disk against the machine's, and what no crash may do."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import hypothesis.strategies as st
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moldau.storage.disk_files import DiskFiles
from moldau.storage.files import File, Files
from moldau.testing.disk import SimulatedDisk
from moldau.testing.disk_faults import FaultyFiles

NAMES = st.sampled_from(["a", "b", "c"])
PATH = Path("/file")


class SameAsTheMachine(RuleBasedStateMachine):
    """Every operation is done on both, and has the same result or the same error."""

    def __init__(self) -> None:
        super().__init__()
        self.temporary = tempfile.TemporaryDirectory()
        self.sides: list[tuple[Files, Path]] = [
            (DiskFiles(), Path(self.temporary.name)),
            (SimulatedDisk(), Path("/")),
        ]
        self.opened: list[list[File]] = []

    def teardown(self) -> None:
        self.temporary.cleanup()

    def both(self, operation: Callable[[Files, Path], object]) -> None:
        results = []
        for files, directory in self.sides:
            try:
                result = operation(files, directory)
            except OSError as error:
                result = error.errno
            results.append(sorted(result) if isinstance(result, list) else result)
        assert results[0] == results[1]

    def each_file(self, number: int, operation: Callable[[File], object]) -> None:
        if self.opened:
            pair = self.opened[number % len(self.opened)]
            results = [operation(file) for file in pair]
            assert results[0] == results[1]
            assert pair[0].size == pair[1].size

    @rule(name=NAMES, create=st.booleans())
    def open(self, name: str, create: bool) -> None:
        opened: list[File] = []
        self.both(lambda files, directory: opened.append(files.open(directory / name, create)))
        if opened:
            self.opened.append(opened)

    @rule(name=NAMES)
    def make_directory(self, name: str) -> None:
        self.both(lambda files, directory: files.make_directory(directory / name))

    @rule(old=NAMES, new=NAMES)
    def rename(self, old: str, new: str) -> None:
        self.both(lambda files, directory: files.rename(directory / old, directory / new))

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.both(lambda files, directory: files.remove(directory / name))

    @rule(name=NAMES)
    def remove_directory(self, name: str) -> None:
        self.both(lambda files, directory: files.remove_directory(directory / name))

    @rule(name=NAMES, data=st.binary(max_size=9))
    def replace_bytes(self, name: str, data: bytes) -> None:
        self.both(lambda files, directory: files.replace_bytes(directory / name, data, sync=False))

    @rule(name=NAMES)
    def read_bytes(self, name: str) -> None:
        self.both(lambda files, directory: files.read_bytes(directory / name))

    @rule(name=NAMES)
    def list_directory(self, name: str) -> None:
        self.both(lambda files, directory: files.names(directory / name))

    @rule(number=st.integers(0, 9), data=st.binary(max_size=20))
    def append(self, number: int, data: bytes) -> None:
        self.each_file(number, lambda file: file.append(data))

    @rule(number=st.integers(0, 9), size=st.integers(0, 30), position=st.integers(0, 30))
    def read(self, number: int, size: int, position: int) -> None:
        self.each_file(number, lambda file: file.read(size, position))
        self.each_file(number, lambda file: bytes(file.read_now(size, position) or b""))

    @rule(number=st.integers(0, 9), size=st.integers(0, 30))
    def truncate(self, number: int, size: int) -> None:
        self.each_file(number, lambda file: file.truncate(size))

    @rule(number=st.integers(0, 9), size=st.integers(1, 40))
    def preallocate(self, number: int, size: int) -> None:
        self.each_file(number, lambda file: file.preallocate(size))

    @invariant()
    def the_same_names_and_bytes(self) -> None:
        self.both(lambda files, directory: files.names(directory))
        self.both(lambda files, directory: files.directories(directory))
        for name in ("a", "b", "c"):
            self.read_bytes(name)


TestSameAsTheMachine = SameAsTheMachine.TestCase
TestSameAsTheMachine.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)


@settings(max_examples=100, deadline=None)
@given(appends=st.lists(st.tuples(st.binary(max_size=700), st.booleans()), max_size=12), seed=st.integers())
def test_a_crash_loses_nothing_that_was_synced_and_adds_nothing_to_the_length(
    appends: list[tuple[bytes, bool]], seed: int
) -> None:
    disk = SimulatedDisk()
    file = disk.open(PATH, create=True)
    disk.sync_directory(PATH.parent)
    written = synced = b""
    for data, sync in appends:
        file.append(data)
        written += data
        if sync:
            file.sync()
            synced = written
    disk.crash(Random(seed))
    left = disk.read_bytes(PATH)
    assert left.startswith(synced)
    assert len(left) <= len(written)


@settings(max_examples=100, deadline=None)
@given(
    old=st.none() | st.binary(max_size=1200), new=st.binary(max_size=1200), step=st.integers(0, 8), seed=st.integers()
)
def test_replaced_bytes_are_all_old_or_all_new_after_a_crash(
    old: bytes | None, new: bytes, step: int, seed: int
) -> None:
    disk = SimulatedDisk()
    if old is not None:
        disk.replace_bytes(PATH, old)
    files = FaultyFiles(disk)
    files.fail("*", after=step)
    try:
        files.replace_bytes(PATH, new)
    except OSError:
        allowed = {old, new}
    else:
        allowed = {new}
    disk.crash(Random(seed))
    assert (disk.read_bytes(PATH) if disk.exists(PATH) else None) in allowed
    disk.replace_bytes(PATH, b"again")
    assert disk.read_bytes(PATH) == b"again"
