"""What is wrong, out of the texts of Spark's errors as Spark 4.3 writes them; paths and frames are shortened."""

from __future__ import annotations

import pytest

from moldau.pipeline.jobs.spark_messages import LENGTH_MAX, message_in

STATE = """=== Streaming Query ===
Identifier: [id = 8f6c1ac2-d66c-427d-8e38-afa3566e5e99, runId = 15a04b6c-1b40-4316-b4e0-93a9353d4b2d]
Current Committed Offsets: {}

Current State: ACTIVE

Logical Plan:
WriteToMicroBatchDataSource moldau
+- ~Project [value#43]
"""

BATCH_SOURCE = """[PYTHON_DATA_SOURCE_ERROR] Failed to generate …: Traceback (most recent call last):
  File "/site-packages/moldau/pipeline/source/batch_reading.py", line 32, in partitions
    ranges = ask(self._options, self._plan())
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/lib/python3.11/concurrent/futures/_base.py", line 461, in result
    self = None
moldau.pipeline.options.OptionError: subscribe='none': there is no none in the cluster at host:9092
 SQLSTATE: 38000"""

STREAM_SOURCE = f"""[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when …: Traceback (most recent call last):
  File "/site-packages/moldau/pipeline/source/offset_finder.py", line 68, in partitions
    raise MissingPartitions(
moldau.pipeline.source.offset_finder.MissingPartitions: the first of two

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/site-packages/moldau/pipeline/source/stream_reading.py", line 179, in _discover
    raise error.at_start() from error
moldau.pipeline.options.OptionError: what to do about it
 SQLSTATE: 38000
{STATE}"""

SINK_TASK = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/site-packages/moldau/pipeline/sink/task_side.py", line 149, in _queues
    raise SinkError(
moldau.pipeline.sink.errors.SinkError: topic t does not exist"""

USERS_FUNCTION = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/home/me/orders.py", line 60, in times
    raise ValueError("bad value")
          ^^^^^^^^^^^^^^^^^^^^^^^
ValueError: bad value
second line"""

EACH_BATCH = f"""An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "/site-packages/pyspark/sql/classic/dataframe.py", line 500, in count
    return int(self._jdf.count())
               ^^^^^^^^^^^^^^^^^
pyspark.errors.exceptions.captured.AnalysisException: {BATCH_SOURCE}
{STATE}"""

EACH_BATCH_OF_SQL = """An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "/site-packages/pyspark/errors/exceptions/captured.py", line 262, in deco
    raise converted from None
pyspark.errors.exceptions.captured.ArithmeticException: [DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012
== SQL (line 1, position 8) ==
SELECT 1 / 0 AS x
       ^^^^^
"""

RUNTIME_SQL = f"""[CAST_INVALID_INPUT] The value 'x' cannot be cast. Use `try_cast` instead. SQLSTATE: 22018
== SQL (line 1, position 8) ==
SELECT CAST(id AS INT) AS id FROM orders
       ^^^^^^^^^^^^^^^

{STATE}"""

ANALYSIS = """[UNRESOLVED_COLUMN.WITH_SUGGESTION] The column `nope` cannot be resolved. SQLSTATE: 42703; line 1 pos 7;
'Project ['nope]
+- RelationV2[key#178, value#179] moldau
"""

PARSING = """
[PARSE_SYNTAX_ERROR] Syntax error at or near 'SELEC'. SQLSTATE: 42601 (line 1, pos 0)

== SQL ==
SELEC * FROM nope
^^^
"""

OTHER_JAVA = """An error occurred while calling o733.save.
: java.lang.ClassNotFoundException: no.such.Driver
\tat java.base/java.net.URLClassLoader.findClass(URLClassLoader.java:445)
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""

SPARKS_JAVA = """An error occurred while calling o486.load.
: org.apache.spark.SparkClassNotFoundException: [DATA_SOURCE_NOT_FOUND] There is no data source nope. SQLSTATE: 42K02
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.dataSourceNotFoundError(QueryExecutionErrors.scala:770)
Caused by: java.lang.ClassNotFoundException: nope.DefaultSource
\tat java.base/java.net.URLClassLoader.findClass(URLClassLoader.java:445)
\t... 90 more
"""

LOST_TASK = """An error occurred while calling o12.save.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times, most recent \
failure: Lost task 0.0 in stage 0.0 (TID 0) (127.0.0.1 executor driver): java.sql.SQLException: the table is full
\tat org.example.Database.write(Database.java:7)

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:1)
"""

WRAPPED = """An error occurred while calling o12.save.
: org.apache.spark.SparkException: Job aborted.
\tat org.apache.spark.sql.Write.save(Write.scala:1)
Caused by: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows. SQLSTATE: 58030
\tat org.apache.spark.sql.Write.write(Write.scala:2)
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(BATCH_SOURCE, "subscribe='none': there is no none in the cluster at host:9092", id="source"),
        pytest.param(STREAM_SOURCE, "what to do about it", id="the last of two that follow from each other"),
        pytest.param(SINK_TASK, "topic t does not exist", id="sink"),
        pytest.param(USERS_FUNCTION, "ValueError: bad value second line (orders.py line 60)", id="a user's function"),
        pytest.param(EACH_BATCH, "subscribe='none': there is no none in the cluster at host:9092", id="in a batch"),
        pytest.param(EACH_BATCH_OF_SQL, "[DIVIDE_BY_ZERO] Division by zero. In: 1 / 0", id="SQL in a batch"),
        pytest.param(
            RUNTIME_SQL,
            "[CAST_INVALID_INPUT] The value 'x' cannot be cast. Use `try_cast` instead. In: CAST(id AS INT)",
            id="SQL at run time",
        ),
        pytest.param(
            ANALYSIS,
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] The column `nope` cannot be resolved, line 1 pos 7",
            id="analysis",
        ),
        pytest.param(PARSING, "[PARSE_SYNTAX_ERROR] Syntax error at or near 'SELEC'. (line 1, pos 0)", id="parsing"),
        pytest.param(OTHER_JAVA, "ClassNotFoundException: no.such.Driver", id="Java"),
        pytest.param(SPARKS_JAVA, "[DATA_SOURCE_NOT_FOUND] There is no data source nope.", id="Spark's Java"),
        pytest.param(LOST_TASK, "SQLException: the table is full", id="a task of Java"),
        pytest.param(WRAPPED, "IOException: No space left on device", id="wrapped twice"),
        pytest.param("nothing of all that", "nothing of all that", id="a text"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_what_is_wrong_is_in_a_line(text: str, told: str) -> None:
    assert message_in(text) == told


def test_a_query_that_was_waited_for_says_what_ended_it() -> None:
    text = f"[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: {BATCH_SOURCE}\n{STATE}"
    assert message_in(text).startswith("subscribe='none'")


def test_an_error_without_a_message_has_its_name_and_place() -> None:
    assert message_in('Traceback (most recent call last):\n  File "/a/b.py", line 3, in c\nKeyError\n') == (
        "KeyError (b.py line 3)"
    )


def test_a_message_may_begin_with_a_quote_as_a_plan_does() -> None:
    assert message_in("Traceback (most recent call last):\nKeyError: 'cents'\n") == "KeyError: 'cents'"


def test_a_long_text_is_cut() -> None:
    assert len(message_in("x" * 100_000)) == LENGTH_MAX + 1
