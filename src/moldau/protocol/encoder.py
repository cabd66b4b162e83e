"""Generates, for a message class and version, the function that turns a message into bytes.

The function appends pieces to a list and joins them at the end. Neighbouring fields become one expression list, and
neighbouring fields of fixed width one `struct` call, so that the common message costs a handful of Python operations.
A message with record batches is returned in several buffers, the batches themselves being the caller's: they go to the
socket without a copy.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

from moldau.base.errors import UnsupportedVersion
from moldau.protocol.schema import FIXED_FORMATS, Array, Field, Kind, Struct
from moldau.protocol.source import Source
from moldau.protocol.varint import SMALL_UVARINTS, encode_uvarint

TABLE_SIZE = 64  # arrays of numbers shorter than this are packed, length included, by a ready-made struct


class Encoder:
    """Writes the encoding function of one message version."""

    def __init__(self, out: Source) -> None:
        self.out = out
        self._pending: list[str] = []  # expressions of buffers, not yet in the text
        self._formats = ""  # fixed-width fields not yet in an expression
        self._values: list[str] = []
        self._depth = 1

    def write(self) -> None:
        out = self.out
        out.add(0, "def run(message):")
        out.add(1, "buffers = []; parts = []; append = parts.append; extend = parts.extend")
        self.struct(out.cls, "message")
        self.flush()
        out.add(1, "buffers.append(b''.join(parts))")
        out.add(1, "return buffers")

    # -- pieces

    def piece(self, expression: str) -> None:
        self._end_fixed()
        self._pending.append(expression)

    def fixed(self, formats: str, *values: str) -> None:
        """Fields of fixed width; "x" is a zero byte."""
        self._formats += formats
        self._values.extend(values)

    def _end_fixed(self) -> None:
        if self._values:
            self._pending.append(f"{self.out.packer(self._formats)}({', '.join(self._values)})")
        elif self._formats:
            self._pending.append(repr(bytes(len(self._formats))))
        self._formats, self._values = "", []

    def flush(self) -> None:
        self._end_fixed()
        if len(self._pending) == 1:
            self.line(f"append({self._pending[0]})")
        elif self._pending:
            self.line(f"extend(({', '.join(self._pending)}))")
        self._pending = []

    def line(self, text: str) -> None:
        self.out.add(self._depth, text)

    # -- structs

    def struct(self, cls: type[Struct], value: str) -> None:
        plain, tagged, absent = self.out.split(cls)
        for field in absent:
            if not field.ignorable:
                self._refuse(cls, field, value)
        for field in plain:
            self.value(field.kind, f"{value}.{field.name}", nullable=self.out.version in field.null)
        if self.out.flexible:
            self._tags(tagged, value)

    def _refuse(self, cls: type[Struct], field: Field, value: str) -> None:
        """A value that this version cannot carry is an error, as in Kafka, and not silently lost."""
        refuse = self.out.bind("refuse", refuse_field)
        self.flush()
        self.line(f"if {self._differs(field, value)}: {refuse}('{cls.__name__}.{field.name}', {self.out.title!r})")

    def _differs(self, field: Field, value: str) -> str:
        """The test whether a field has another value than its default; None stands for a struct of defaults."""
        if field.default is None:
            test = f"{value}.{field.name} is not None"
            if isinstance(field.kind, type) and self.out.version not in field.null:
                test += f" and {value}.{field.name} != {self.out.bind(f'default_{field.name}', field.kind())}"
            return test
        default = repr(field.default)
        if isinstance(field.default, Struct):
            default = self.out.bind(f"default_{field.name}", field.default)
        return f"{value}.{field.name} != {default}"

    def _tags(self, tagged: list[Field], value: str) -> None:
        if not tagged:
            return self.fixed("x")
        uvarint = self.out.bind("uvarint", encode_uvarint)
        self.flush()
        self.line(f"if not ({' or '.join(self._differs(field, value) for field in tagged)}): append(b'\\0')")
        self.line("else:")
        self._depth += 1
        tags, kept_append, kept_extend = (self.out.fresh(stem) for stem in ("tags", "append", "extend"))
        self.line(f"{tags} = []; {kept_append} = append; {kept_extend} = extend")
        for field in tagged:
            body = self.out.fresh("body")
            self.line(f"if {self._differs(field, value)}:")
            self._depth += 1
            self.line(f"{body} = []; append = {body}.append; extend = {body}.extend")
            self.value(field.kind, f"{value}.{field.name}", nullable=self.out.version in field.null)
            self.flush()
            self.line(f"{body} = b''.join({body})")
            tag = encode_uvarint(field.tag or 0)
            self.line(f"{tags}.append({tag!r} + {uvarint}(len({body})) + {body})")
            self._depth -= 1
        self.line(f"append = {kept_append}; extend = {kept_extend}")
        self.piece(f"{uvarint}(len({tags}))")
        self.piece(f"b''.join({tags})")
        self.flush()
        self._depth -= 1
        return None

    # -- values

    def value(self, kind: Kind, value: str, *, nullable: bool) -> None:
        if isinstance(kind, Array):
            self._array(kind.of, value, nullable)
        elif not isinstance(kind, str):
            self._nested(kind, value, nullable)
        elif kind in FIXED_FORMATS:
            self.fixed(kind, value)
        elif kind == "records":
            self._records(value, nullable)
        else:
            self._text(kind, value, nullable)

    def _text(self, kind: str, value: str, nullable: bool) -> None:
        """A string or bytes: two pieces, or one expression where it may be null."""
        width, encode = ("h", ".encode()") if kind == "string" else ("i", "")
        if nullable:
            length = self._length(f"len(s := v{encode})", width)
            self.piece(f"({self._null(width)} if (v := {value}) is None else {length} + s)")
        else:
            self.piece(self._length(f"len(s := {value}{encode})", width))
            self.piece("s")

    def _length(self, count: str, width: str) -> str:
        """The expression of a length or count: compact, or a plain int16 or int32."""
        if not self.out.flexible:
            return f"{self.out.packer(width)}({count})"
        small = self.out.bind("small", SMALL_UVARINTS)
        uvarint = self.out.bind("uvarint", encode_uvarint)
        return f"({small}[n] if (n := {count} + 1) < 256 else {uvarint}(n))"

    def _null(self, width: str) -> str:
        return repr(b"\0" if self.out.flexible else struct.pack(">" + width, -1))

    def _nested(self, cls: type[Struct], value: str, nullable: bool) -> None:
        if not nullable:
            return self.struct(cls, value)
        self._unless_null(value, b"\xff")
        self.fixed("b", "1")
        self.struct(cls, value)
        return self._end_unless_null()

    def _records(self, value: str, nullable: bool) -> None:
        if nullable:
            self._unless_null(value, b"\0" if self.out.flexible else b"\xff\xff\xff\xff")
        self.piece(self._length(f"len({value})", "i"))
        self.flush()
        self.line(f"buffers.append(b''.join(parts)); parts.clear(); buffers.append({value})")
        if nullable:
            self._end_unless_null()

    def _array(self, kind: Kind, value: str, nullable: bool) -> None:
        if isinstance(kind, str) and kind in FIXED_FORMATS and kind != "16s":
            return self._numbers(kind, value, nullable)
        null = b"\0" if self.out.flexible else b"\xff\xff\xff\xff"
        if nullable:
            self._unless_null(value, null)
        self.piece(self._length(f"len({value})", "i"))
        self.flush()
        item = self.out.fresh("item" if isinstance(kind, str | Array) else kind.__name__.lower())
        self.line(f"for {item} in {value}:")
        self._depth += 1
        self.value(kind, item, nullable=False)
        self.flush()
        self._depth -= 1
        return self._end_unless_null() if nullable else None

    def _numbers(self, kind: str, value: str, nullable: bool) -> None:
        table, long = number_packers(kind, self.out.flexible)
        pack = self.out.bind(f"pack_{kind}s", table)
        pack_long = self.out.bind(f"pack_{kind}s_long", long)
        first = "n + 1" if self.out.flexible else "n"
        short = f"{pack}[n]({first}, *v) if (n := len(v)) < {TABLE_SIZE} else {pack_long}(v)"
        if nullable:
            self.piece(f"({self._null('i')} if (v := {value}) is None else {short})")
        else:
            self.piece(f"({short.replace('len(v)', f'len(v := {value})')})")

    def _unless_null(self, value: str, null: bytes) -> None:
        self.flush()
        self.line(f"if {value} is None: append({null!r})")
        self.line("else:")
        self._depth += 1

    def _end_unless_null(self) -> None:
        self.flush()
        self._depth -= 1


@cache
def number_packers(kind: str, flexible: bool) -> tuple[list[Any], Any]:
    """Packers of short arrays of numbers by their count, each taking the length first; and one for long arrays."""
    length = "B" if flexible else "i"
    table = [struct.Struct(f">{length}{count}{kind}").pack for count in range(TABLE_SIZE)]

    def long(values: list[int]) -> bytes:
        count = len(values)
        lead = encode_uvarint(count + 1) if flexible else struct.pack(">i", count)
        return lead + struct.pack(f">{count}{kind}", *values)

    return table, long


def refuse_field(field: str, title: str) -> None:
    raise UnsupportedVersion(f"{title} cannot carry {field}; it needs another version")
