"""The codecs: formats of other clients, levels, and bombs."""

from __future__ import annotations

import gzip
import random
import struct
import threading
import tracemalloc
import zlib

import cramjam
import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, CorruptRecord
from moldau.records.compression import LEVELS, CompressionType, compress, compression_type_of, decompress
from tests.unit.records.record_strategies import CODECS, LEGACY_CODECS

COMPRESSED = [codec for codec in CODECS if codec is not CompressionType.NONE]
MIB = 1 << 20


def contents() -> list[bytes]:
    noise = random.Random(3)
    return [
        b"",
        b"a",
        b"the same words again " * 2000,
        noise.randbytes(100_000),
        bytes(300_000),
        b"".join(noise.choice([b"one ", b"two ", b"three "]) for _ in range(40_000)),
    ]


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_what_is_compressed_is_decompressed(codec: CompressionType, magic: int) -> None:
    for content in contents():
        compressed = compress(codec, content, magic=magic)
        assert decompress(codec, compressed, len(content), magic) == content
        assert decompress(codec, memoryview(compressed), len(content) + 1, magic) == content


@pytest.mark.parametrize("codec", [CompressionType.GZIP, CompressionType.LZ4, CompressionType.ZSTD])
def test_every_level_that_kafka_allows_works(codec: CompressionType) -> None:
    content = contents()[2]
    levels = LEVELS[codec]
    for level in {levels.lowest, levels.default, 1, 5, levels.highest}:
        assert decompress(codec, compress(codec, content, level), len(content)) == content
    with pytest.raises(AssertionError):
        compress(codec, content, levels.highest + 1)


def test_zstd_is_for_magic_2_alone() -> None:
    content = contents()[2]
    compressed = compress(CompressionType.ZSTD, content)
    assert decompress(CompressionType.ZSTD, compressed) == content
    with pytest.raises(ApiError, match="message format 1 cannot be compressed with zstd") as raised:
        compress(CompressionType.ZSTD, content, magic=1)
    assert raised.value.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    with pytest.raises(CorruptRecord, match="message format 0 cannot be compressed with zstd"):
        decompress(CompressionType.ZSTD, compressed, magic=0)


def test_snappy_is_framed_as_snappy_java_frames_it() -> None:
    content = random.Random(4).randbytes(70_000)
    framed = compress(CompressionType.SNAPPY, content)
    assert framed[:16] == b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
    blocks, position = [], 16
    while position < len(framed):
        (size,) = struct.unpack_from(">i", framed, position)
        blocks.append(bytes(cramjam.snappy.decompress_raw(framed[position + 4 : position + 4 + size])))
        position += 4 + size
    assert [len(block) for block in blocks] == [32768, 32768, 4464]
    assert b"".join(blocks) == content


def test_snappy_is_read_raw_and_in_several_streams_too() -> None:
    content = contents()[2]
    raw = bytes(cramjam.snappy.compress_raw(content))
    assert decompress(CompressionType.SNAPPY, raw) == content
    assert decompress(CompressionType.SNAPPY, compress(CompressionType.SNAPPY, content) * 2) == content * 2


def test_gzip_may_have_several_members() -> None:
    assert decompress(CompressionType.GZIP, gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


@pytest.mark.parametrize("block_linked", [True, False])
@pytest.mark.parametrize("content_checksum", [True, False])
def test_lz4_frames_of_other_writers_are_read(block_linked: bool, content_checksum: bool) -> None:
    for content in contents():
        stream = cramjam.lz4.Compressor(level=0, content_checksum=content_checksum, block_linked=block_linked)
        stream.compress(content)
        assert decompress(CompressionType.LZ4, bytes(stream.finish())) == content


def test_lz4_blocks_are_independent_and_the_header_is_as_broken_as_magic_0_wants_it() -> None:
    content = contents()[5]
    broken, right = (compress(CompressionType.LZ4, content, magic=magic) for magic in (0, 1))
    assert right[4] & 0x20
    assert broken[:6] + broken[7:] == right[:6] + right[7:]
    assert broken[6] != right[6]
    assert decompress(CompressionType.LZ4, broken, magic=0) == content
    assert decompress(CompressionType.LZ4, right, magic=0) == content
    for magic in (1, 2):
        with pytest.raises(CorruptRecord, match="lz4 data does not decompress within"):
            decompress(CompressionType.LZ4, broken, magic=magic)


def test_zstd_without_stated_size_and_with_skippable_frames_is_read() -> None:
    content = contents()[5]
    stream = cramjam.zstd.Compressor(level=3)
    stream.compress(content)
    skippable = struct.pack("<II", 0x184D2A53, 5) + b"notes"
    assert decompress(CompressionType.ZSTD, skippable + bytes(stream.finish()), len(content)) == content


@pytest.mark.parametrize("codec", COMPRESSED)
def test_the_limit_is_exact(codec: CompressionType) -> None:
    for content in contents()[1:]:
        compressed = compress(codec, content)
        assert decompress(codec, compressed, len(content)) == content
        with pytest.raises(CorruptRecord, match=f"{len(content) - 1} bytes"):
            decompress(codec, compressed, len(content) - 1)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_bomb_is_refused_before_it_takes_memory(codec: CompressionType) -> None:
    bomb = compress(codec, bytes(64 * MIB))
    assert len(bomb) < 4 * MIB
    tracemalloc.start()
    try:
        with pytest.raises(CorruptRecord):
            decompress(codec, bomb, MIB)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 4 * MIB


def test_sizes_that_only_claim_to_be_large_are_refused() -> None:
    claims_4_gib = b"\xff\xff\xff\xff\x0f" + bytes(10)
    with pytest.raises(CorruptRecord, match="snappy data decompresses to more than"):
        decompress(CompressionType.SNAPPY, claims_4_gib)
    runs = b"".join(((128 << 10) << 3 | 1 << 1).to_bytes(3, "little") + b"x" for _ in range(100_000))
    frame = struct.pack("<I", 0xFD2FB528) + b"\x00\x58" + runs + b"\x01\x00\x00"
    with pytest.raises(CorruptRecord, match="zstd data does not decompress within"):
        decompress(CompressionType.ZSTD, frame, MIB)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_every_truncation_and_what_follows_is_corrupt(codec: CompressionType) -> None:
    content = b"the same words again " * 9
    compressed = compress(codec, content)
    empty_at = 16 if codec is CompressionType.SNAPPY else 0  # a snappy stream may end after any block, zstd before any
    for end in range(len(compressed)):
        if end == empty_at and codec in (CompressionType.SNAPPY, CompressionType.ZSTD):
            continue
        with pytest.raises(CorruptRecord):
            decompress(codec, compressed[:end])
    with pytest.raises(CorruptRecord):
        decompress(codec, compressed + b"garbage")


def test_there_are_five_codecs() -> None:
    assert [compression_type_of(0xF8 | number) for number in range(5)] == list(CompressionType)
    for number in (5, 6, 7):
        with pytest.raises(CorruptRecord, match=f"there is no compression type {number}"):
            compression_type_of(number)


@pytest.mark.slow
@pytest.mark.parametrize("codec", COMPRESSED)
def test_other_threads_run_while_a_codec_works(codec: CompressionType) -> None:
    content = random.Random(5).randbytes(8 * MIB) + bytes(24 * MIB)
    turns = 0
    done = threading.Event()

    def work() -> None:
        for _ in range(3):
            decompress(codec, compress(codec, content))
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not done.wait(0.001):
        turns += 1
    worker.join()
    assert turns > 20


def test_gzip_is_what_the_standard_library_reads() -> None:
    content = contents()[2]
    assert zlib.decompress(compress(CompressionType.GZIP, content, 9), 31) == content
