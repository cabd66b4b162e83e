"""LocalCluster as users meet it: gone without a trace, also if it never came up."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

import moldau.testing
from moldau.base.errors import ConfigError
from moldau.testing.local_cluster import LocalCluster


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary data goes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_its_data_goes_with_it(temporary: Path) -> None:
    with LocalCluster() as cluster:
        assert cluster.data.parent == temporary
    assert list(temporary.iterdir()) == []


def test_a_start_that_fails_leaves_nothing(temporary: Path) -> None:
    with pytest.raises(ConfigError, match=r"num\.partitions"), LocalCluster({"num.partitions": "none"}):
        pytest.fail("it cannot come up")
    assert list(temporary.iterdir()) == []


def test_data_that_was_given_is_kept_and_found_again(tmp_path: Path) -> None:
    with LocalCluster(data=tmp_path / "kept") as cluster:
        cluster.create_topic("orders")
        cluster.restart()
        assert cluster.run_in_loop(lambda node: list(node.metadata.topics)) == ["orders"]
    assert (tmp_path / "kept" / "orders-0").is_dir()


def test_it_is_found_where_the_documents_say() -> None:
    assert moldau.testing.LocalCluster is LocalCluster
    with pytest.raises(AttributeError, match="nothing"):
        moldau.testing.nothing  # noqa: B018
