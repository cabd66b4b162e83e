"""Producer state and leader epochs beside Apache Kafka's own classes: the same commands, the same answers.

Commands are random, in a range so small that every rule is met often. Left out is what no leader lets through and a
follower therefore never sees: a batch outside of the producer's open transaction, which Kafka refuses even then, and
sequence numbers that go back. Nor do clients and coordinators write to one partition under one producer id.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import RecordBatch, add_to_sequence
from moldau.storage.leader_epochs import LeaderEpochs
from moldau.storage.producer_append import AppendOrigin
from moldau.storage.producer_entry import UNKNOWN_PRODUCER
from moldau.storage.producer_snapshot import decode_snapshot, encode_snapshot
from moldau.storage.producer_state import ProducerState
from tests.java_tools import fetch_jars, require_java, run_java
from tests.unit.storage.producer_batches import NOW_MS, marker_batch, records_batch
from tests.unit.storage.snapshot_bytes import as_kafka_reads_it

RELEASE = "4.3.0"  # the rules of 3.9, and those of transactions of version 2
DAY_MS = 86_400_000
SEQUENCE_MAX = (1 << 31) - 1
SESSIONS, COMMANDS = 400, 60
OFFSETS_PRODUCER_ID = 4  # its batches come from a coordinator
EXCEPTIONS = {
    ErrorCode.INVALID_PRODUCER_EPOCH: "InvalidProducerEpochException",
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: "OutOfOrderSequenceException",
    ErrorCode.INVALID_TXN_STATE: "InvalidTxnStateException",
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: "TransactionCoordinatorFencedException",
}


class Session:
    """Draws commands, and carries each out on our side; `lines` are the commands, `answers` ours."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.state = ProducerState("t-0")
        self.epochs = LeaderEpochs("t-0")
        self.end_offset = self.high_watermark = 0
        self.lines = ["reset"]
        self.answers = ["ok"]

    def run(self) -> None:
        rng = self.rng
        commands: list[tuple[Callable[[], None], int]] = [
            (self.append_records, 40),
            (self.append_marker, 12),
            (self.verify, 6),
            (self.move_watermark, 6),
            (self.expire, 1),
            (self.reload, 1),
            (self.change_epochs, 6),
            (self.ask_epochs, 6),
        ]
        for command in rng.choices([each for each, _ in commands], [weight for _, weight in commands], k=COMMANDS):
            command()
            self.say("state", self.describe())
        snapshot = encode_snapshot(dict(sorted(self.state.producers.items())))
        self.say("snapshot", as_kafka_reads_it(snapshot).hex())

    def say(self, line: str, answer: str) -> None:
        self.lines.append(line)
        self.answers.append(answer)

    def describe(self) -> str:
        state = self.state
        offsets = (state.first_unstable_offset, state.first_undecided_offset, state.map_end_offset)
        words = [str(-1 if offset is None else offset) for offset in offsets]
        for producer_id, entry in sorted(state.producers.items()):
            batches = "".join(f"/{','.join(map(str, batch))}" for batch in entry.batches)
            words.append(f"{producer_id}:{':'.join(map(str, entry[:4]))}{batches}")
        return " ".join(words)

    def append(self, batch: RecordBatch, origin: AppendOrigin, version: int) -> None:
        line = f"append {origin.name} {version} {batch.data.hex()}"
        try:
            prepared = self.state.prepare([batch], origin, transaction_version=max(version, 0))
        except ApiError as error:
            self.say(line, EXCEPTIONS[error.code])
            return
        if prepared.duplicate:
            original = prepared.duplicate
            self.say(line, f"duplicate {original.base_offset} {original.last_offset} {original.timestamp}")
            return
        self.end_offset = batch.next_offset
        self.state.commit(prepared, self.end_offset)
        ended = [
            f" {each.first_offset}:{each.last_offset}:{str(each.aborted).lower()}:{each.last_stable_offset}"
            for each in prepared.completed
        ]
        self.say(line, "written" + "".join(ended))

    def append_records(self) -> None:
        rng = self.rng
        producer_id = rng.randint(1, 4)
        entry = self.state.producers.get(producer_id, UNKNOWN_PRODUCER)
        epoch = max(0, entry.producer_epoch + rng.choice([0] * 12 + [-1, 1, 1]))
        origin = AppendOrigin.CLIENT if producer_id != OFFSETS_PRODUCER_ID else AppendOrigin.COORDINATOR
        if rng.random() < 0.1:
            origin = AppendOrigin.REPLICATION
        count = rng.randint(1, 3)
        if producer_id == OFFSETS_PRODUCER_ID:
            sequence = -1
        elif origin is AppendOrigin.CLIENT and entry.batches and rng.random() < 0.2:
            original = rng.choice(entry.batches)  # a duplicate, or nearly one
            sequence = add_to_sequence(original.base_sequence, rng.choice([0, 0, 0, 1]))
            count = original.offset_delta + 1
        elif entry is UNKNOWN_PRODUCER:
            sequence = rng.choice([0, 0, 5, SEQUENCE_MAX - 4])
        else:
            sequence = entry.next_sequence if epoch == entry.producer_epoch else 0
            sequence = add_to_sequence(
                sequence, rng.choice([0] * 10 + [1, 2, -1 if origin is AppendOrigin.CLIENT else 3])
            )
        transactional = rng.random() < (0.95 if entry.in_transaction else 0.4)
        if origin is AppendOrigin.REPLICATION and entry.in_transaction:
            transactional = True
        batch = records_batch(
            producer_id,
            epoch,
            sequence,
            count,
            base_offset=self.end_offset,
            transactional=transactional,
            timestamp_ms=NOW_MS + rng.randint(0, 3) * DAY_MS // 2,
        )
        self.append(batch, origin, -1)

    def append_marker(self) -> None:
        rng = self.rng
        producer_id = rng.randint(1, 4)
        entry = self.state.producers.get(producer_id, UNKNOWN_PRODUCER)
        origin = rng.choice([AppendOrigin.COORDINATOR] * 4 + [AppendOrigin.REPLICATION])
        batch = marker_batch(
            producer_id,
            max(0, entry.producer_epoch + rng.choice([0, 0, 0, 1, 1, -1])),
            commit=rng.random() < 0.5,
            coordinator_epoch=max(0, entry.coordinator_epoch + rng.choice([0, 0, 0, 1, -1])),
            base_offset=self.end_offset,
            timestamp_ms=NOW_MS + rng.randint(0, 3) * DAY_MS // 2,
        )
        self.append(batch, origin, -1 if origin is AppendOrigin.REPLICATION else rng.choice([0, 1, 2]))

    def verify(self) -> None:
        rng = self.rng
        producer_id = rng.randint(1, 4)
        entry = self.state.producers.get(producer_id, UNKNOWN_PRODUCER)
        epoch = max(0, entry.producer_epoch)
        sequence, bump = add_to_sequence(entry.next_sequence, rng.choice([-1, 0, 0, 1])), rng.random() < 0.3
        guard = self.state.start_verification(producer_id, epoch, sequence, NOW_MS, supports_epoch_bump=bump)
        if guard is not None:  # the log, of which Kafka's class knows nothing, asks only then
            self.say(f"verify {producer_id} {epoch} {sequence} {str(bump).lower()}", "ok")

    def move_watermark(self) -> None:
        self.high_watermark = self.rng.randint(self.high_watermark, self.end_offset)
        self.state.on_high_watermark(self.high_watermark)
        self.say(f"watermark {self.high_watermark}", "ok")

    def expire(self) -> None:
        now_ms = NOW_MS + self.rng.randint(1, 5) * DAY_MS // 2
        self.state.remove_expired(now_ms, DAY_MS)
        self.say(f"expire {now_ms}", "ok")

    def reload(self) -> None:
        snapshot = encode_snapshot(self.state.producers)
        now_ms = NOW_MS + self.rng.randint(0, 3) * DAY_MS // 2
        self.state = ProducerState("t-0")
        # Kafka gets all of it, and takes each producer's last batch only.
        self.state.load(decode_snapshot(as_kafka_reads_it(snapshot)), self.end_offset, now_ms, DAY_MS)
        self.say(f"load {snapshot.hex()} {self.end_offset} {now_ms}", "ok")

    def change_epochs(self) -> None:
        rng = self.rng
        command = rng.choice(["assign", "assign", "assign", "cut-end", "cut-start"])
        offset = rng.randint(0, 20)
        words = [command]
        if command == "assign":
            epoch = rng.randint(0, 12)
            self.epochs.assign(epoch, offset)
            words.append(str(epoch))
        elif command == "cut-end":
            self.epochs.truncate_from_end(offset)
        else:
            self.epochs.truncate_from_start(offset)
        entries = [f" {epoch}:{start_offset}" for epoch, start_offset in self.epochs.entries]
        self.say(" ".join([*words, str(offset)]), "entries" + "".join(entries))

    def ask_epochs(self) -> None:
        epoch, offset = self.rng.randint(-1, 14), self.rng.randint(0, 22)
        end = self.epochs.end_offset_for(epoch, 21)
        self.say(f"end {epoch} 21", f"{end.epoch}={end.end_offset}")
        self.say(f"epoch-at {offset}", or_none(self.epochs.epoch_for_offset(offset)))
        self.say(f"before {epoch}", or_none(self.epochs.previous_epoch(epoch)))


def or_none(value: int | None) -> str:
    return "none" if value is None else str(value)


@pytest.mark.java
@pytest.mark.slow
def test_the_same_commands_have_the_same_answers(tmp_path: Path) -> None:
    require_java()
    jars = fetch_jars(
        *(f"org.apache.kafka:kafka-{part}:{RELEASE}" for part in ("clients", "storage", "server-common")),
        "org.slf4j:slf4j-api:1.7.36",
    )
    sessions = [Session(random.Random(seed)) for seed in range(SESSIONS)]
    for session in sessions:
        session.run()
    lines = [line for session in sessions for line in session.lines]
    ours = [answer for session in sessions for answer in session.answers]
    oracle = Path(__file__).with_name("ProducerStateOracle.java")
    theirs = run_java(oracle, jars, str(tmp_path), str(NOW_MS), stdin="\n".join(lines)).splitlines()
    assert len(theirs) == len(ours)
    for number, (line, our_answer, their_answer) in enumerate(zip(lines, ours, theirs, strict=True)):
        assert our_answer == their_answer, f"command {number}: {line}"
    kinds = {answer.split(" ")[0] for answer in ours}
    assert {"duplicate", "written", *EXCEPTIONS.values()} <= kinds, "every rule is met"
