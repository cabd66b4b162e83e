"""Ready pipelines: each can be read, says what it needs, and refuses what it does not know."""

from __future__ import annotations

import pytest

from moldau.pipeline.jobs.definition import PipelineError
from moldau.pipeline.jobs.ready import NAMES, load_pipeline, ready, ready_pipelines
from moldau.pipeline.jobs.session import LOCAL_CHECKPOINT, is_local_path, settings_for

TIMES = {"from": "2026-01-31T12:00:00Z", "until": "2026-01-31T13:00:00Z"}


@pytest.mark.parametrize("name", NAMES)
def test_a_ready_pipeline_is_whole_once_its_parameters_are_given(name: str) -> None:
    needed = {each.name: each.name for each in ready(name).parameters if each.default is None}
    pipeline = load_pipeline(name, needed | {key: TIMES[key] for key in needed if key in TIMES})
    assert pipeline.name == name
    assert len(pipeline.sinks) == 1


def test_every_parameter_is_explained() -> None:
    for each in ready_pipelines():
        assert each.about.endswith(".")
        assert [parameter.name for parameter in each.parameters if not parameter.about] == []


def test_what_is_written_goes_to_the_same_cluster_unless_another_is_named() -> None:
    given = {"topic": "a", "to": "b", "servers": "one:1"}
    assert load_pipeline("topic-to-topic", given).sinks[0].options["kafka.bootstrap.servers"] == "one:1"
    other = load_pipeline("topic-to-topic", given | {"to_servers": "two:2"})
    assert other.sinks[0].options["kafka.bootstrap.servers"] == "two:2"


def test_a_name_that_is_nothing_is_told() -> None:
    with pytest.raises(PipelineError, match=r"nothing is neither a file \.toml or \.py nor a ready pipeline"):
        load_pipeline("nothing", {})


def test_short_batches_need_a_local_checkpoint() -> None:
    assert [is_local_path(path) for path in ("a/b", "/a", "file:///a", "hdfs://a/b", "s3a://b")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert LOCAL_CHECKPOINT.items() <= settings_for("local[2]", "a/b", {}).items()
    assert LOCAL_CHECKPOINT.keys().isdisjoint(settings_for("local[2]", "hdfs://a/b", {}))
    assert settings_for("local[2]", "a", {"spark.ui.enabled": "true"})["spark.ui.enabled"] == "true"
