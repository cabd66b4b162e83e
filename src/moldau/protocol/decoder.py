"""Generates, for a message class and version, the function that reads a message from bytes.

The function walks the frame `b` with a position `p` and never trusts a number in it. The number that leads a field of
variable width, its length or count, is read in the same `struct` call as the fixed fields before it. One comparison
tells the common small number from the rest: a null, a long varint, or a number that might not fit in the frame; that is
checked before anything is allocated. A small number that does not fit ends at the frame's end: reads there raise,
slices stop there, and the last line sees a position past it.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any, NamedTuple, NoReturn

from moldau.base.errors import MalformedMessage
from moldau.protocol.schema import FIXED_FORMATS, Array, Field, Kind, Struct
from moldau.protocol.source import Source
from moldau.protocol.varint import Buffer, finish_uvarint

TABLE_SIZE = 64  # arrays of numbers shorter than this are read by a ready-made struct
SMALL = 128  # lengths and counts below this are one byte as a varint, and need no look at what is left

# What reading past the end, or bytes that are no text, look like in the generated code.
DECODING_ERRORS = (struct.error, IndexError, UnicodeDecodeError)


class Lead(NamedTuple):
    """The number in front of a field of variable width, which the field's text finds under `name`."""

    format: str
    name: str


class Decoder:
    """Writes the decoding function of one message version."""

    def __init__(self, out: Source) -> None:
        self.out = out
        self._depth = 2
        self._formats = ""  # fixed-width fields not yet in the text
        self._targets: list[str] = []
        self._label = ""  # the field in hand, for the text of errors
        out.names.update(new=object.__new__, finish=finish_uvarint, bad=refuse_length, skip=skip_tags)
        out.names.update(compact=check_compact, plain=check_plain)
        out.names.update(ERRORS=DECODING_ERRORS, malformed=malformed)

    def write(self) -> None:
        out = self.out
        out.add(0, "def run(b, p=0):")
        if out.with_records:
            out.add(1, "if type(b) is not bytes: b = memoryview(b)")
            out.add(1, "view = memoryview(b)")
        else:
            out.add(1, "if type(b) is not bytes: b = bytes(b)")
        out.add(1, "try:")
        self.struct(out.cls, "m")
        out.add(2, "if p > len(b): raise IndexError")
        out.add(1, f"except ERRORS as error: raise malformed({out.title!r}, p, error) from None")
        out.add(1, "return m, p")

    def line(self, text: str) -> None:
        self.out.add(self._depth, text)

    # -- fixed width

    def fixed(self, formats: str, target: str) -> None:
        self._formats += formats
        self._targets.append(target)

    def flush(self) -> None:
        if self._formats == "B":
            self.line(f"{self._targets[0]} = b[p]; p += 1")
        elif self._targets:
            size = struct.calcsize(">" + self._formats)
            unpack = self.out.unpacker(self._formats)
            self.line(f"{', '.join(self._targets)}, = {unpack}(b, p); p += {size}")
        self._formats, self._targets = "", []

    def lead(self, format: str) -> Lead:  # noqa: A002 - the struct module's word
        """Read the number that leads a field together with the fixed fields before it."""
        lead = Lead(format, self.out.fresh("n"))
        self.fixed(format, lead.name)
        self.flush()
        return lead

    # -- structs

    def struct(self, cls: type[Struct], target: str) -> None:
        plain, tagged, absent = self.out.split(cls)
        self.line(f"{target} = new({self.out.bind(cls.__name__, cls)})")
        for field in absent + tagged:
            self.line(f"{target}.{field.name} = {self._default(field)}")
        lead: Lead | None = None
        for index, field in enumerate(plain):
            if field.fixed:
                self.fixed(field.fixed, f"{target}.{field.name}")
                continue
            follower = plain[index + 1].kind if index + 1 < len(plain) else None
            self._label = f"{cls.__name__}.{field.name}"
            lead = self._variable(field, f"{target}.{field.name}", lead, self._lead_format(follower, index, plain))
        if self.out.flexible:
            self._tags(tagged, target, lead or self.lead("B"))
        self.flush()

    def _default(self, field: Field) -> str:
        if isinstance(field.default, list):
            return "[]"
        if isinstance(field.default, Struct):
            return f"{self.out.bind(type(field.default).__name__, type(field.default))}()"
        return repr(field.default)

    def _lead_format(self, follower: Kind | None, index: int, plain: list[Field]) -> str:
        """The format of the number that leads what follows a field, or nothing if a number does not."""
        if follower is None:
            return "B" if self.out.flexible else ""
        if isinstance(follower, str) and follower in FIXED_FORMATS:
            return ""
        if isinstance(follower, type):
            return "b" if self.out.version in plain[index + 1].null else ""
        if self.out.flexible:
            return "B"
        return "h" if follower == "string" else "i"

    def _variable(self, field: Field, target: str, lead: Lead | None, next_format: str) -> Lead | None:
        """Read a field of variable width; numbers in an array are read along with the lead of the next field."""
        kind, nullable = field.kind, self.out.version in field.null
        if isinstance(kind, type):
            self._nested(kind, target, nullable, lead)
            return None
        lead = lead or self.lead("B" if self.out.flexible else "h" if kind == "string" else "i")
        if isinstance(kind, Array) and kind.of in FIXED_FORMATS and kind.of != "16s":
            return self._numbers(str(kind.of), target, lead, nullable, next_format)
        smallest = max(1, self._smallest(kind.of)) if isinstance(kind, Array) else 1
        self._check(lead, smallest, nullable)
        if nullable:
            self.line(f"if {lead.name} {'== 0' if lead.format == 'B' else '< 0'}: {target} = None")
            self.line("else:")
            self._depth += 1
        count = f"{lead.name} - 1" if lead.format == "B" else lead.name
        if isinstance(kind, Array):
            self._array(kind.of, target, count)
        else:
            self._text(kind, target, count)
        self._depth -= nullable
        return None

    def _check(self, lead: Lead, smallest: int, nullable: bool) -> None:
        """Let small numbers pass; look closely at all others."""
        n, marks = lead.name, f"{smallest}, {nullable}, {self._label!r}"
        unsuspicious = f"{n} < {SMALL}" if nullable else f"{0 if lead.format == 'B' else -1} < {n} < {SMALL}"
        check = f"{n}, p = compact" if lead.format == "B" else "plain"
        self.line(f"if not {unsuspicious}: {check}(b, p, {n}, {marks})")

    def _nested(self, cls: type[Struct], target: str, nullable: bool, lead: Lead | None) -> None:
        value = self.out.fresh(cls.__name__.lower())
        if nullable:
            lead = lead or self.lead("b")
            self.line(f"if {lead.name} < 0: {target} = None")
            self.line("else:")
            self._depth += 1
        self.flush()
        self.struct(cls, value)
        self.line(f"{target} = {value}")
        self._depth -= nullable

    # -- values of variable width

    def _text(self, kind: str, target: str, length: str) -> None:
        value = "b[p:q]"
        if kind == "records":
            value = "view[p:q]"
        elif kind == "string":
            value = "str(b[p:q], 'utf-8')" if self.out.with_records else "b[p:q].decode()"
        elif self.out.with_records:
            value = "bytes(b[p:q])"
        self.line(f"q = p + {length}; {target} = {value}; p = q")

    def _array(self, kind: Kind, target: str, count: str) -> None:
        stem = kind.__name__.lower() if isinstance(kind, type) else "item"
        items, item = self.out.fresh("items"), self.out.fresh(stem)
        self.line(f"{items} = {target} = []")
        self.line(f"for _ in range({count}):")
        self._depth += 1
        if isinstance(kind, type):
            self.struct(kind, item)
        else:
            self._item(kind, item)
        self.line(f"{items}.append({item})")
        self._depth -= 1

    def _item(self, kind: Kind, item: str) -> None:
        """One element that is not a struct: a string, bytes or a uuid."""
        if kind in FIXED_FORMATS:
            self.fixed(str(kind), item)
            return self.flush()
        field = Field(item, kind, self.out.cls.VERSIONS, self.out.cls.VERSIONS.parse(""), None, False, None)
        self._variable(field, item, None, "")
        return None

    def _numbers(self, kind: str, target: str, lead: Lead, nullable: bool, next_format: str) -> Lead | None:
        n, follower = lead.name, Lead(next_format, self.out.fresh("n")) if next_format else None
        readers = number_readers(kind, lead.format, next_format)
        read = self.out.bind(f"read_{kind}s_{next_format}", readers.table)
        sizes = self.out.bind(f"size_{kind}s_{next_format}", readers.sizes)
        long = self.out.bind(f"read_{kind}s_{next_format}_long", readers.long)
        low = 0 if lead.format == "B" else -1
        rest = f", {follower.name}" if follower else ""
        self.line(f"if {low} < {n} < {TABLE_SIZE}: *{target}{rest or ','} = {read}[{n}](b, p); p += {sizes}[{n}]")
        self.line(f"else: {target}{rest}, p = {long}(b, p, {n}, {nullable}, {self._label!r})")
        return follower

    # -- tags

    def _tags(self, tagged: list[Field], target: str, lead: Lead) -> None:
        if not tagged:
            return self.line(f"if {lead.name}: p = skip(b, p, {lead.name})")
        count, tag, stop = lead.name, self.out.fresh("tag"), self.out.fresh("stop")
        self.line(f"if {count}:")
        self._depth += 1
        self.line(f"if {count} > 127: {count}, p = compact(b, p, {count}, 2, False, 'tagged fields')")
        self.line(f"for _ in range({count}):")
        self._depth += 1
        for name in (tag, stop):
            self.line(f"{name} = b[p]; p += 1")
            self.line(f"if {name} > 127: {name}, p = finish(b, p, {name})")
        self.line(f"{stop} += p")
        for field in tagged:
            self.line(f"if {tag} == {field.tag}:")
            self._depth += 1
            self._tagged(field, f"{target}.{field.name}", stop)
            self._depth -= 1
        self.line(f"p = {stop}")
        self._depth -= 2
        return None

    def _tagged(self, field: Field, target: str, stop: str) -> None:
        self._label = f"tagged field {field.name}"
        if field.fixed:
            self.fixed(field.fixed, target)
            self.flush()
        else:
            self._variable(field, target, None, "")
        self.line(f"if p != {stop}: bad({self._label!r}, {stop} - p, len(b) - p)")

    def _smallest(self, kind: Kind) -> int:
        """The fewest bytes that a value of a kind can take."""
        if isinstance(kind, str) and kind in FIXED_FORMATS:
            return struct.calcsize(">" + kind)
        if not isinstance(kind, type):
            return 1 if self.out.flexible else 2 if kind == "string" else 4
        plain = self.out.split(kind)[0]
        fields = (
            1 if self.out.version in f.null and isinstance(f.kind, type) else self._smallest(f.kind) for f in plain
        )
        return sum(fields) + self.out.flexible


class NumberReaders(NamedTuple):
    """How to read an array of numbers and the lead of the next field, by the number that leads the array."""

    table: list[Any]
    sizes: list[int]
    long: Any


@cache
def number_readers(kind: str, lead_format: str, next_format: str) -> NumberReaders:
    extra = 1 if lead_format == "B" else 0  # compact counts are written plus one, zero being null
    layouts = [struct.Struct(f">{max(0, n - extra)}{kind}{next_format}") for n in range(TABLE_SIZE)]
    width = struct.calcsize(">" + kind)
    lead = struct.Struct(">" + next_format)

    def long(b: Buffer, p: int, n: int, nullable: bool, label: str) -> tuple[Any, ...]:
        """Null, or too long for the table: the numbers, the next lead if there is one, and the position after."""
        if extra:
            n, p = check_compact(b, p, n, width, nullable, label)
        else:
            check_plain(b, p, n, width, nullable, label)
        count = n - extra
        values = list(struct.unpack_from(f">{count}{kind}", b, p)) if count >= 0 else None
        p += max(count, 0) * width
        return values, *lead.unpack_from(b, p), p + lead.size

    return NumberReaders([layout.unpack_from for layout in layouts], [layout.size for layout in layouts], long)


def check_compact(b: Buffer, p: int, n: int, smallest: int, nullable: bool, label: str) -> tuple[int, int]:
    """A compact length or count whose first byte is `n`, once it is sure to fit; with the position after it."""
    if n > 127:
        n, p = finish_uvarint(b, p, n)
    check_plain(b, p, n - 1, smallest, nullable, label)
    return n, p


def check_plain(b: Buffer, p: int, n: int, smallest: int, nullable: bool, label: str) -> None:
    """Refuse a length or count that cannot fit in what is left, and a null where there must be none."""
    if n * smallest > len(b) - p or (n < 0 and not nullable):
        refuse_length(label, n, len(b) - p)


def skip_tags(b: Buffer, p: int, count: int) -> int:
    """The position after tagged fields that are not known here; `count` is the first byte of their number."""
    if count > 127:
        count, p = finish_uvarint(b, p, count)
    if count * 2 > len(b) - p:
        refuse_length("tagged fields", count, len(b) - p)
    for _ in range(count):
        tag = b[p]
        p += 1
        if tag > 127:
            tag, p = finish_uvarint(b, p, tag)
        size = b[p]
        p += 1
        if size > 127:
            size, p = finish_uvarint(b, p, size)
        if size > len(b) - p:
            refuse_length("a tagged field", size, len(b) - p)
        p += size
    return p


def refuse_length(field: str, length: int, left: int) -> NoReturn:
    if length < 0:
        raise MalformedMessage(f"{field} must not be null")
    raise MalformedMessage(f"{field}: length {length} does not fit in the {left} bytes that are left")


def malformed(title: str, position: int, error: Exception) -> MalformedMessage:
    if isinstance(error, UnicodeDecodeError):
        return MalformedMessage(f"{title}: text that is not UTF-8 near byte {position}")
    return MalformedMessage(f"{title}: the frame ends inside the message, near byte {position}")
