"""How a message is declared: a slots dataclass whose annotations say how each field looks on the wire.

    @message(key=12, versions="0-4", flexible="4+")
    class HeartbeatRequest(Message):
        group_id: String = ""
        group_instance_id: String | None = wire("3+", null="3+", default=None)

One class serves all versions. A plain default means: in every version, never null. `wire(...)` says in which
versions a field exists, may be null, or travels as a tagged field (KIP-482). A field that a version lacks keeps
its default there; encoding another value in such a version is refused unless the field is `ignorable`. A tagged
struct is None unless it was sent.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, dataclass_transform, get_args

Int8 = Annotated[int, "b"]
Int16 = Annotated[int, "h"]
UInt16 = Annotated[int, "H"]
Int32 = Annotated[int, "i"]
Int64 = Annotated[int, "q"]
Float64 = Annotated[float, "d"]
Bool = Annotated[bool, "?"]
Uuid = Annotated[bytes, "16s"]
String = Annotated[str, "string"]
Bytes = Annotated[bytes, "bytes"]
# Record batches: a view of the frame when decoded, any buffer when encoded; never copied by the codec.
Records = Annotated[bytes | memoryview, "records"]

ZERO_UUID = bytes(16)
VERSION_MAX = 32767


class Versions(NamedTuple):
    """An inclusive range of versions, written "3", "3-7", "3+", or "" for none."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        if not text:
            return cls(1, 0)
        low, _, high = text.rstrip("+").partition("-")
        return cls(int(low), VERSION_MAX if text.endswith("+") else int(high or low))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.low <= version <= self.high

    def __str__(self) -> str:
        if self.low > self.high:
            return "none"
        if self.high == VERSION_MAX:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


ALWAYS = Versions(0, VERSION_MAX)
NEVER = Versions(1, 0)


class Array(NamedTuple):
    """The kind of a field that repeats."""

    of: Kind


class Field(NamedTuple):
    """One field of a struct, as the code generators see it."""

    name: str
    kind: Kind
    versions: Versions
    null: Versions
    tag: int | None
    ignorable: bool
    default: Any

    @property
    def fixed(self) -> str:
        """The struct-module format of a field of fixed width, or nothing."""
        return self.kind if isinstance(self.kind, str) and self.kind in FIXED_FORMATS else ""


FIXED_FORMATS = frozenset(("b", "h", "H", "i", "q", "d", "?", "16s"))


class _Fields:
    """Works out the fields of a class when somebody asks for them: a process uses few of the hundreds of classes."""

    def __get__(self, _instance: object, cls: type[Struct]) -> tuple[Field, ...]:
        hints = inspect.get_annotations(cls, eval_str=True)
        fields = tuple(_field(field, hints[field.name]) for field in dataclasses.fields(cls))  # type: ignore[arg-type]
        cls.FIELDS = fields
        return fields


class Struct:
    """A group of fields; the base of messages and of what they contain.

    Equality and representation are here, once for all classes, since a process that starts pays for every method that
    `dataclass` writes.
    """

    __slots__: tuple[str, ...] = ()
    FIELDS: ClassVar[tuple[Field, ...]] = _Fields()  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({shown})"


class Message(Struct):
    """What is sent or stored as a whole."""

    __slots__ = ()
    KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = ALWAYS
    FLEXIBLE: ClassVar[Versions] = NEVER


# A format of the struct module, "string", "bytes", "records", an array of a kind, or a struct.
Kind = str | Array | type[Struct]
S = TypeVar("S", bound=Struct)
M = TypeVar("M", bound=Message)


def wire(
    versions: str = "0+",
    *,
    default: Any,
    null: str = "",
    tag: int | None = None,
    ignorable: bool = False,
) -> Any:
    """Declare in which versions a field exists, may be null, or travels as a tag."""
    marks = {"versions": versions, "null": null, "tag": tag, "ignorable": ignorable}
    if isinstance(default, list | type):
        factory = default if isinstance(default, type) else list
        return dataclasses.field(default_factory=factory, metadata=marks)
    return dataclasses.field(default=default, metadata=marks)


@dataclass_transform(kw_only_default=True, field_specifiers=(wire,))
def struct(cls: type[S]) -> type[S]:
    """Make a class of annotated fields a struct."""
    return _define(cls)


@dataclass_transform(kw_only_default=True, field_specifiers=(wire,))
def message(*, versions: str, flexible: str = "", key: int = -1) -> Callable[[type[M]], type[M]]:
    """Make a class of annotated fields a message with its API key, its versions and its flexible ones."""

    def decorate(cls: type[M]) -> type[M]:
        defined = _define(cls)
        defined.KEY = key
        defined.VERSIONS = Versions.parse(versions)
        defined.FLEXIBLE = Versions.parse(flexible)
        return defined

    return decorate


def _define(cls: type[S]) -> type[S]:
    cls.__doc__ = cls.__doc__ or cls.__name__  # or `dataclass` composes a signature to put there
    return dataclasses.dataclass(slots=True, kw_only=True, eq=False, repr=False, match_args=False)(cls)


def _field(field: dataclasses.Field[Any], hint: Any) -> Field:
    marks = field.metadata
    factory = field.default_factory
    return Field(
        name=field.name,
        kind=_kind(hint),
        versions=Versions.parse(marks.get("versions", "0+")),
        null=Versions.parse(marks.get("null", "")),
        tag=marks.get("tag"),
        ignorable=marks.get("ignorable", False),
        default=field.default if factory is dataclasses.MISSING else factory(),
    )


def _kind(hint: Any) -> Kind:
    """The wire kind behind an annotation: `String | None` and `String` are the same kind."""
    if isinstance(hint, type) and issubclass(hint, Struct):
        return hint
    if marks := getattr(hint, "__metadata__", None):
        return str(marks[0])
    inner = [arg for arg in get_args(hint) if arg is not type(None)]
    assert inner, f"{hint!r} is not a wire type"
    return Array(_kind(inner[0])) if getattr(hint, "__origin__", None) is list else _kind(inner[0])
