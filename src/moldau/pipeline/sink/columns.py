"""Which columns a sink takes, by the rules of Spark's own Kafka connector; `timestamp` is ours.

    topic      string                                   not null; the option topic goes before it
    key        string or binary
    value      string or binary                         required; null is a tombstone
    partition  int                                      null: the key decides
    headers    array<struct<key string, value binary>>
    timestamp  timestamp, or bigint in milliseconds     null: now

Other columns are left alone.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from moldau.pipeline.options import OptionError
from moldau.pipeline.sink.errors import SinkError

_HEADERS: Final = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
_TYPES: Final[dict[str, tuple[DataType, ...]]] = {
    "topic": (StringType(),),
    "key": (StringType(), BinaryType()),
    "value": (StringType(), BinaryType()),
    "partition": (IntegerType(),),
    "headers": (_HEADERS,),
    "timestamp": (TimestampType(), LongType()),
}


def check_columns(schema: StructType, topic: str | None) -> None:
    """Refuse a DataFrame that cannot become records."""
    types = {field.name: field.dataType for field in schema.fields}
    if "value" not in types:
        raise SinkError(f"Required attribute 'value' not found: the columns are {', '.join(types) or 'none'}")
    if topic is None and "topic" not in types:
        raise OptionError(
            "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic."
        )
    for name, allowed in _TYPES.items():
        given = types.get(name)
        if given is not None and not any(_is_like(given, each) for each in allowed):
            wanted = " or ".join(each.simpleString().upper() for each in allowed)
            raise SinkError(f"{name} must be a(n) {wanted}, but the column is {given.simpleString()}; cast it")


def _is_like(given: DataType, allowed: DataType) -> bool:
    """The same, but for what may be null; a string may have any collation."""
    if isinstance(allowed, StringType):
        return isinstance(given, StringType)
    if isinstance(allowed, ArrayType):
        return isinstance(given, ArrayType) and _is_like(given.elementType, allowed.elementType)
    if isinstance(allowed, StructType):
        return (
            isinstance(given, StructType)
            and [field.name for field in given] == [field.name for field in allowed]
            and all(_is_like(one.dataType, other.dataType) for one, other in zip(given, allowed, strict=True))
        )
    return type(given) is type(allowed)
