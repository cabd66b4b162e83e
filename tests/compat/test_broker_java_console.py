"""The Java clients, as Kafka's console producer and consumer, take the broker for Kafka."""

from __future__ import annotations

import pytest

from tests.broker_process import BrokerProcess
from tests.compat.kafka_tools import KafkaTools
from tests.compat.stored_batches import codecs_of, is_idempotent
from tests.compat.test_clients_and_records import CODECS

pytestmark = [pytest.mark.java, pytest.mark.slow]

# headers, key, value; NULL stands for null, and the consumer prints it so.
LINES = ["colour:blue,size:NULL\tkey\tvalue", "NULL\tNULL\tno key", "NULL\tkey\tNULL", "empty:\tkey\t"]
LINES += [f"number:{number}\tkey-{number}\tthe same words again and again" for number in range(100)]
PRINTED = [line.replace("NULL\t", "NO_HEADERS\t", 1) if line.startswith("NULL") else line for line in LINES]


class Console:
    """The two programs of a version, with the flags that it calls them by."""

    def __init__(self, tools: KafkaTools, address: str, topic: str) -> None:
        is_old = tools.version.startswith("3.")
        self._tools = tools
        self._target = ("--bootstrap-server", address, "--topic", topic)
        self._setting = "--producer-property" if is_old else "--command-property"
        self._reader = "--property" if is_old else "--reader-property"
        self._formatter = "--property" if is_old else "--formatter-property"

    def produce(self, *arguments: str, settings: tuple[str, ...] = ()) -> None:
        more = [*arguments]
        for setting in settings:
            more += [self._setting, setting]
        for option in ("parse.key=true", "parse.headers=true", "null.marker=NULL"):
            more += [self._reader, option]
        stdin = "".join(f"{line}\n" for line in LINES)
        self._tools.run("kafka-console-producer", *self._target, *more, stdin=stdin)

    def consume(self, count: int, offset: str = "earliest", *arguments: str) -> list[str]:
        """Records of partition 0: by assignment, without a group."""
        more = ["--partition", "0", "--offset", offset, "--max-messages", str(count), *arguments]
        for option in ("print.headers=true", "print.key=true", "null.literal=NULL"):
            more += [self._formatter, option]
        return self._tools.run("kafka-console-consumer", *self._target, *more).splitlines()


@pytest.fixture
def console(tools: KafkaTools, address: str, topic: str) -> Console:
    tools.run("kafka-topics", "--bootstrap-server", address, "--create", "--topic", topic)
    return Console(tools, address, topic)


@pytest.mark.parametrize("codec", CODECS)
def test_records_of_every_codec_come_back(broker: BrokerProcess, console: Console, topic: str, codec: str) -> None:
    console.produce("--compression-codec", codec)
    assert console.consume(len(LINES)) == PRINTED
    assert codecs_of(broker, topic) == {codec}


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_with_every_kind_of_acks_come_back(console: Console, acks: str) -> None:
    console.produce("--request-required-acks", acks, settings=("enable.idempotence=false",))
    assert console.consume(len(LINES)) == PRINTED


def test_an_idempotent_producer_writes_each_record_once(broker: BrokerProcess, console: Console, topic: str) -> None:
    console.produce("--batch-size", "500", settings=("enable.idempotence=true",))
    assert console.consume(len(LINES)) == PRINTED
    assert is_idempotent(broker, topic)


def test_one_record_after_another_is_sent(console: Console) -> None:
    console.produce("--sync", "--timeout", "0")  # its linger.ms, a second by default
    assert console.consume(len(LINES)) == PRINTED


def test_reading_starts_where_it_is_told(console: Console) -> None:
    console.produce()
    assert console.consume(10, "50", "--isolation-level", "read_committed") == PRINTED[50:60]
    assert console.consume(1, "latest", "--timeout-ms", "500") == []


def test_a_topic_that_is_not_there_is_created(tools: KafkaTools, address: str, topic: str) -> None:
    console = Console(tools, address, topic)
    console.produce()
    assert console.consume(len(LINES)) == PRINTED
