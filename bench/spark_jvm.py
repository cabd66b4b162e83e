"""A Spark session that has Spark's own Kafka connector beside ours: the jars, and the settings of a fair comparison."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from tests.java_tools import fetch_jars

# The newest that Maven Central has; each works with the others, and with Spark 4.2 and 4.3.
CONNECTOR = "4.2.0"
TOKEN_PROVIDER = "4.0.0"
KAFKA_CLIENTS = "3.9.1"
COMMONS_POOL = "2.12.1"


def connector_jars() -> list[Path]:
    """The connector, and the few jars that it needs and pip's Spark does not have."""
    folder = fetch_jars(
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{CONNECTOR}",
        f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{TOKEN_PROVIDER}",
        f"org.apache.kafka:kafka-clients:{KAFKA_CLIENTS}",
        f"org.apache.commons:commons-pool2:{COMMONS_POOL}",
    )
    return sorted(folder.glob("*.jar"))


def jvm_session(settings: Mapping[str, str] | None = None) -> SparkSession:
    """local[2], no web page, unix sockets to Python, and both connectors."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    chosen = {
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": tempfile.gettempdir(),
        "spark.jars": ",".join(map(str, connector_jars())),
        **(settings or {}),
    }
    builder = SparkSession.builder.master("local[2]").appName("moldau-bench")
    for name, value in chosen.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
