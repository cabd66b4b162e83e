"""The columns of a record, in Spark's types, as its own Kafka connector has them.

    key binary · value binary · topic string · partition int · offset long · timestamp timestamp · timestampType int
    headers array<struct<key string, value binary>>, with `includeHeaders`

A user may give a schema of some of them, in any order: Spark does not tell a Python source which columns a query
needs, so this is the way not to pay for the others.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from moldau.pipeline.options import OptionError

HEADERS: Final = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))

PLAIN_SCHEMA: Final = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
)
FULL_SCHEMA: Final = StructType([*PLAIN_SCHEMA.fields, StructField("headers", HEADERS)])

_TYPES: Final = {field.name: field.dataType for field in FULL_SCHEMA.fields}
_MAY_BE_NULL: Final = frozenset({"key", "value", "headers"})


def schema_with(include_headers: bool) -> StructType:
    return FULL_SCHEMA if include_headers else PLAIN_SCHEMA


def check_schema(wanted: StructType) -> None:
    """Refuse a user's schema with a column that records do not have, or of another type."""
    known = ", ".join(f"{name} {kind.simpleString()}" for name, kind in _TYPES.items())
    if not wanted.fields:
        raise OptionError(f"The schema has no columns; there are {known}")
    for field in wanted.fields:
        kind = _TYPES.get(field.name)
        if kind is None:
            raise OptionError(f"The schema has a column '{field.name}', which records do not have; there are {known}")
        if kind.simpleString() != field.dataType.simpleString():
            raise OptionError(
                f"The schema's column '{field.name}' is {field.dataType.simpleString()} and has to be "
                f"{kind.simpleString()}; cast it in a select"
            )
        if field.name in _MAY_BE_NULL and not field.nullable:
            raise OptionError(f"The schema's column '{field.name}' is NOT NULL, but records may have none")
    if len(set(wanted.names)) < len(wanted.names):
        raise OptionError(f"The schema has a column twice: {', '.join(wanted.names)}")
