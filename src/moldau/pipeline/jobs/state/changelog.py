"""The compacted topic behind a state, and the group that has its position."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from pyspark.sql import functions as f

from moldau.base.config.schema import Scope
from moldau.base.config.scopes import schema_of
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.clients.admin.config_entries import ConfigResource
from moldau.clients.admin.plain import Admin
from moldau.clients.admin.topics import NewTopic
from moldau.clients.producer.plain import Producer
from moldau.clients.records import GroupMetadata, OffsetAndMetadata, TopicPartition
from moldau.pipeline.jobs.definition import MOLDAU, Options, PipelineError
from moldau.pipeline.jobs.topics import admin_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Offsets = dict[TopicPartition, int]

_POLICY: Final = "cleanup.policy"


class Changelog:
    """`options` are those of a sink; `group` is where the position is, and who writes."""

    def __init__(self, topic: str, options: Options, group: str) -> None:
        self.topic = topic
        self._options = {name: value for name, value in options.items() if name.startswith("kafka.")}
        self._group = group
        self._admin = Admin(admin_settings(self._options))
        known = schema_of(Scope.PRODUCER)
        settings: dict[str, object] = {
            name.removeprefix("kafka."): value
            for name, value in self._options.items()
            if known.find(name.removeprefix("kafka.")) is not None
        }
        self._producer = Producer(settings | {"transactional.id": f"{group}-changelog"})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._producer.close()
        self._admin.close()

    def take_over(self) -> Offsets:
        """Fence who wrote before, make the topic if it is missing, and say where the position is."""
        self._make()
        self._producer.init_transactions()
        found = self._admin.list_consumer_group_offsets([self._group], require_stable=True)[self._group]
        return {partition: each.offset for partition, each in found.items() if each is not None}

    def restore(self, spark: SparkSession) -> DataFrame:
        """The last value of each key, as columns key and value; tombstones are left out."""
        records = (
            spark.read.format(MOLDAU)
            .options(**self._options)
            .option("kafka.isolation.level", "read_committed")
            .option("subscribe", self.topic)
            .load()
        )
        # A key is in one partition, so that its offsets say which record is its last.
        last = records.groupBy("key").agg(f.max_by("value", "offset").alias("value"))
        return last.where("key IS NOT NULL AND value IS NOT NULL")

    def write(self, changes: Iterable[tuple[bytes, bytes | None]], position: Offsets) -> int:
        """Changes and the position that they lead to, together or not at all; how many there were."""
        self._producer.begin_transaction()
        try:
            count = 0
            for key, value in changes:
                self._producer.send(self.topic, value, key=key)
                count += 1
            ends = {partition: OffsetAndMetadata(offset) for partition, offset in position.items()}
            self._producer.send_offsets_to_transaction(ends, GroupMetadata(self._group))
            self._producer.commit_transaction()
        except BaseException:
            self._producer.abort_transaction()
            raise
        return count

    def _make(self) -> None:
        try:
            self._admin.create_topics([NewTopic(self.topic, configs={_POLICY: "compact"})])
        except ApiError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        resource = ConfigResource.topic(self.topic)
        policy = self._admin.describe_configs([resource])[resource][_POLICY].value
        if policy is None or "compact" not in policy:
            raise PipelineError(
                f"the changelog {self.topic} has {_POLICY}={policy}, and would forget state: set it to compact with "
                f"kafka-configs --alter --topic {self.topic} --add-config {_POLICY}=compact"
            )
