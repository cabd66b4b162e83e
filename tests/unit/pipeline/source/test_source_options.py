"""What a source takes, what it refuses, and that each refusal names the option and its value."""

from __future__ import annotations

import pytest

from moldau.clients.records import TopicPartition
from moldau.pipeline.options import OptionError, Options
from moldau.pipeline.source.bounds import Kind
from moldau.pipeline.source.source_options import SourceOptions, read_batch_options, read_stream_options

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
BASE = {**SERVERS, "subscribe": "orders"}


def batch(**given: str) -> SourceOptions:
    return read_batch_options(Options({**BASE, **given}))


def stream(**given: str) -> SourceOptions:
    return read_stream_options(Options({**BASE, **given}))


def test_defaults_are_those_of_sparks_connector() -> None:
    batch_options, stream_options = batch(), stream()
    assert batch_options.starting.kind is Kind.EARLIEST
    assert stream_options.starting.kind is Kind.LATEST
    assert batch_options.ending.kind is Kind.LATEST
    assert batch_options.fail_on_data_loss
    assert not batch_options.include_headers
    assert batch_options.trigger_delay_ms_max == 15 * 60_000
    assert batch_options.poll_timeout_ms == 120_000


def test_names_have_any_case_and_values_any_blanks() -> None:
    options = read_batch_options(
        Options({"KAFKA.Bootstrap.Servers": "h:1", "SubScribe": " a , b,,a ", "STARTINGOFFSETS": " Earliest "})
    )
    assert options.subscription.topics == ("a", "b")
    assert options.settings == {"bootstrap.servers": "h:1"}
    assert options.starting.kind is Kind.EARLIEST


def test_settings_of_the_client_pass_through() -> None:
    options = stream(**{"kafka.isolation.level": "read_committed", "kafka.group.id": "mine", "kafka.client.id": "c"})
    assert options.settings == {
        "bootstrap.servers": "localhost:9092",
        "isolation.level": "read_committed",
        "client.id": "c",
    }
    assert options.group_id == "mine"


def test_the_group_is_the_same_for_the_same_query_and_another_for_another() -> None:
    assert stream().group_id == stream(maxOffsetsPerTrigger="5").group_id
    assert stream().group_id != stream(subscribe="other").group_id
    assert stream().group_id.startswith("spark-kafka-source-")
    assert stream(groupIdPrefix="team").group_id.startswith("team-")


def test_the_first_that_is_given_counts() -> None:
    options = batch(
        startingTimestamp="5", startingOffsetsByTimestamp='{"orders":{"0":7}}', startingOffsets='{"orders":{"0":9}}'
    )
    assert (options.starting.kind, options.starting.time_ms) == (Kind.TIME, 5)
    options = batch(startingOffsetsByTimestamp='{"orders":{"0":7}}', startingOffsets="earliest")
    assert options.starting.by_partition == {TopicPartition("orders", 0): 7}


def test_assign_and_pattern() -> None:
    options = read_batch_options(Options({**SERVERS, "assign": '{"b":[1,0],"a":[2,2]}'}))
    assert options.subscription.partitions == (
        TopicPartition("a", 2),
        TopicPartition("b", 0),
        TopicPartition("b", 1),
    )
    pattern = read_batch_options(Options({**SERVERS, "subscribePattern": "orders-.*"})).subscription
    assert [pattern.matches(name) for name in ("orders-1", "my-orders-1", "orders")] == [True, False, False]


WRONG = [
    ({}, "subscribe, subscribePattern, assign", ""),
    ({"subscribe": "a", "assign": "{}"}, "Only one", "assign is '{}'"),
    ({"subscribe": " , "}, "no topics to subscribe to", "','"),
    ({"subscribePattern": ""}, "is empty", "subscribePattern"),
    ({"subscribePattern": "a("}, "regular expression", "a("),
    ({"assign": "orders"}, "expected e.g.", "orders"),
    ({"assign": "{}"}, "no partitions", "{}"),
    ({"assign": '{"a":[-1]}'}, "-1", "assign"),
    ({"assign": '{"a":[true]}'}, "True", "assign"),
    ({"subscribe": "a", "minPartitions": "0"}, "must be positive", "minPartitions"),
    ({"subscribe": "a", "maxRecordsPerPartition": "1_0"}, "must be positive", "1_0"),
    ({"subscribe": "a", "failOnDataLoss": "yes"}, "true or false", "yes"),
    ({"subscribe": "a", "startingOffsets": "middle"}, "expected e.g.", "middle"),
    ({"subscribe": "a", "startingOffsets": '{"a":{"0":-3}}'}, "-3", "startingOffsets"),
    ({"subscribe": "a", "startingOffsets": '{"a":{"x":1}}'}, "'x'", "startingOffsets"),
    ({"subscribe": "a", "startingOffsets": '{"a":[1]}'}, "expected e.g.", "startingOffsets"),
    ({"subscribe": "a", "startingOffsets": '{"a":{"0":1.5}}'}, "1.5", "startingOffsets"),
    ({"subscribe": "a", "startingTimestamp": "now"}, "single number", "now"),
    ({"subscribe": "a", "startingOffsetsByTimestamp": '{"a":{"0":-1}}'}, "-1", "startingOffsetsByTimestamp"),
    ({"subscribe": "a", "startingOffsetsByTimestampStrategy": "guess"}, "error, latest", "guess"),
    ({"subscribe": "a", "maxTriggerDelay": "soon"}, "a time such as", "soon"),
    ({"subscribe": "a", "minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"}, "higher than", "5"),
    ({"subscribe": "a", "kafka.auto.offset.reset": "latest"}, "startingOffsets", "kafka.auto.offset.reset"),
    ({"subscribe": "a", "kafka.key.deserializer": "x"}, "'key.deserializer' is not supported", "x"),
    ({"subscribe": "a", "kafka.value.deserializer": "x"}, "'value.deserializer' is not supported", "x"),
    ({"subscribe": "a", "kafka.enable.auto.commit": "true"}, "'enable.auto.commit' is not supported", "true"),
    ({"subscribe": "a", "kafka.interceptor.classes": "x"}, "'interceptor.classes' is not supported", "x"),
    ({"subscribe": "a", "kafka.isolation.level": "dirty"}, "isolation.level", "dirty"),
    ({"subscribe": "a", "kafka.request.timeout.ms": "x"}, "request.timeout.ms", "x"),
]


@pytest.mark.parametrize(("given", "text", "also"), WRONG, ids=[str(given) for given, _, _ in WRONG])
def test_what_is_wrong_is_named(given: dict[str, str], text: str, also: str) -> None:
    for read in (read_batch_options, read_stream_options):
        with pytest.raises(OptionError) as caught:
            read(Options({**SERVERS, **given}))
        assert text in str(caught.value)
        assert also in str(caught.value)


def test_servers_are_needed() -> None:
    with pytest.raises(OptionError, match=r"'kafka\.bootstrap\.servers' must be specified"):
        read_batch_options(Options({"subscribe": "a"}))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"startingOffsets": "latest"}, "starting offset can't be latest"),
        ({"startingOffsets": '{"orders":{"0":-1}}'}, "orders-0 can't be latest"),
        ({"endingOffsets": "earliest"}, "ending offset can't be earliest"),
        ({"endingOffsets": '{"orders":{"0":-2}}'}, "orders-0 can't be earliest"),
        (
            {"startingOffsets": '{"orders":{"0":5}}', "endingOffsets": '{"orders":{"0":4}}'},
            "orders-0 would end before it begins",
        ),
        ({"startingOffsets": '{"orders":{"0":5}}', "endingOffsets": '{"orders":{"1":6}}'}, "the same partitions"),
        ({"startingTimestamp": "5", "endingTimestamp": "4"}, "end before it begins"),
    ],
)
def test_what_a_batch_cannot_do(given: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        batch(**given)


@pytest.mark.parametrize("name", ["endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    with pytest.raises(OptionError, match=f"not valid in streaming queries.*{name}"):
        stream(**{name: "5"})


def test_secrets_are_not_shown() -> None:
    with pytest.raises(OptionError) as caught:
        Options({"kafka.ssl.keystore.password": "hush"}).refuse({"kafka.ssl.keystore.password": "No"})
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "ms"),
    [("500ms", 500), ("10s", 10_000), ("15m", 900_000), ("2 h", 7_200_000), ("7", 7), ("1d", 86_400_000)],
)
def test_times_are_written_as_in_spark(text: str, ms: int) -> None:
    assert stream(maxTriggerDelay=text).trigger_delay_ms_max == ms
