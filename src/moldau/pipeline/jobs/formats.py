"""Bytes of a record as columns, and back: text, JSON, Avro, Protobuf, and the header of Confluent's registry.

JSON is Spark's own. Avro and Protobuf are functions of jars that Spark does not bring along; where one is missing the
error says how to get it. Confluent's header is a zero byte and the schema's id in four; Protobuf has the index of the
message behind it, a zero byte for the first one of a file, which is what we read and write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from moldau.pipeline.jobs.definition import Encoding, PipelineError

CONFLUENT_ID_MAX: Final = 2**31 - 1
_MAGIC: Final = b"\x00"
_FIRST_MESSAGE: Final = b"\x00"
_HEADER_BYTES: Final = 5
# What does the work; the functions themselves are there without the jars.
_CLASSES: Final = {
    "avro": ("org.apache.spark.sql.avro.AvroDataToCatalyst", "spark-avro"),
    "protobuf": ("org.apache.spark.sql.protobuf.ProtobufDataToCatalyst", "spark-protobuf"),
}
# What a record is made of beside its value; everything else is part of the value.
RECORD_COLUMNS: Final = ("topic", "key", "headers", "partition", "timestamp")


def decoded(column: Column, encoding: Encoding, place: str) -> Column:
    """A column of bytes as what its encoding says."""
    if encoding.confluent or encoding.confluent_id is not None:
        column = without_confluent_header(column, protobuf=encoding.kind == "protobuf")
    if encoding.kind == "string":
        return column.cast("string")
    schema = _schema(encoding, place)
    options = dict(encoding.options)
    if encoding.kind == "json":
        return f.from_json(column.cast("string"), schema, options)
    _require_jar(encoding.kind, place)
    if encoding.kind == "avro":
        from pyspark.sql.avro.functions import from_avro

        return from_avro(column, schema, options)
    from pyspark.sql.protobuf.functions import from_protobuf

    return from_protobuf(column, _message(encoding, place), schema, options)


def encoded(table: DataFrame, encoding: Encoding, place: str) -> Column:
    """The columns of a table, or those that the encoding names, as one of bytes."""
    names = encoding.columns or [each for each in table.columns if each.lower() not in RECORD_COLUMNS]
    for name in names:
        if name not in table.columns:
            raise PipelineError(f"{place}: value has a column {name!r}, but the table has {_listed(table.columns)}")
    if not names:
        raise PipelineError(f"{place}: no column is left for the value; the table has {_listed(table.columns)}")
    if encoding.kind == "string":
        if len(names) != 1:
            raise PipelineError(f"{place}: a value that is a string is one column, not {_listed(names)}; name it")
        value = f.col(names[0]).cast("string").cast("binary")
    else:
        value = _packed(f.struct(*[f.col(name) for name in names]), encoding, place)
    if encoding.confluent_id is not None:
        return with_confluent_header(value, encoding.confluent_id, protobuf=encoding.kind == "protobuf")
    if encoding.confluent:
        raise PipelineError(f"{place}: Confluent's header needs the schema's id: write confluent_id = NUMBER")
    return value


def _packed(row: Column, encoding: Encoding, place: str) -> Column:
    if encoding.kind == "json":
        return f.to_json(row, dict(encoding.options)).cast("binary")
    _require_jar(encoding.kind, place)
    if encoding.kind == "avro":
        from pyspark.sql.avro.functions import to_avro

        return to_avro(row, encoding.schema or "")
    from pyspark.sql.protobuf.functions import to_protobuf

    return to_protobuf(row, _message(encoding, place), _schema(encoding, place), dict(encoding.options))


def confluent_schema_id(column: Column) -> Column:
    """The id in the header; null where there is none."""
    header = f.conv(f.hex(f.substring(column, 2, 4)), 16, 10).cast("int")
    return f.when(f.substring(column, 1, 1) == f.lit(_MAGIC), header)


def without_confluent_header(column: Column, *, protobuf: bool = False) -> Column:
    """What is behind the header; a value without one is an error, a null stays null."""
    expected = _MAGIC if not protobuf else _FIRST_MESSAGE
    at, skipped = (1, _HEADER_BYTES) if not protobuf else (_HEADER_BYTES + 1, _HEADER_BYTES + 1)
    sound = f.substring(column, 1, 1) == f.lit(_MAGIC)
    if protobuf:
        sound = sound & (f.substring(column, at, 1) == f.lit(expected))
    wrong = f.raise_error(f.lit("a record has no header of Confluent's registry: set confluent = false to read it"))
    rest = f.substring(column, skipped + 1, 2**31 - 1)
    return f.when(column.isNull(), column).when(sound, rest).otherwise(wrong.cast("binary"))


def with_confluent_header(column: Column, schema_id: int, *, protobuf: bool = False) -> Column:
    """The header and the value; a null stays null, because it is a deletion."""
    if not 0 <= schema_id <= CONFLUENT_ID_MAX:
        raise PipelineError(f"confluent_id is {schema_id}, but has to be a number from 0 to {CONFLUENT_ID_MAX}")
    header = _MAGIC + schema_id.to_bytes(4) + (_FIRST_MESSAGE if protobuf else b"")
    return f.concat(f.lit(header), column)


def _schema(encoding: Encoding, place: str) -> str:
    if not encoding.schema:
        raise PipelineError(f"{place}: {encoding.kind} needs a schema: write schema = … or schema_file = …")
    return encoding.schema


def _message(encoding: Encoding, place: str) -> str:
    if not encoding.message:
        raise PipelineError(f"{place}: protobuf needs the name of the message: write message = …")
    return encoding.message


def _require_jar(kind: str, place: str) -> None:
    session = SparkSession.active()
    class_name, artifact = _CLASSES[kind]
    context = session.sparkContext
    loader = context._gateway.jvm.Thread.currentThread().getContextClassLoader()  # type: ignore[union-attr]  # it runs
    try:
        loader.loadClass(class_name)
    except Exception as error:
        raise PipelineError(
            f"{place}: {kind} needs Spark's jar {artifact}: add "
            f"--set spark.jars.packages=org.apache.spark:{artifact}_2.13:{session.version}"
        ) from error


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
