"""Every message version, byte by byte, against the encoders of Apache Kafka's own jars.

4.3.0 knows the new versions, 3.9.1 the old ones and the requests of the ZooKeeper era; together they have all.
"""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest

from moldau.protocol.codec import encode
from moldau.protocol.schema import Array, Kind, Message, Struct
from tests.java_tools import fetch_jars, require_java, run_java
from tests.protocol.instances import api_messages, instance, stored_messages

JACKSON = [f"com.fasterxml.jackson.core:jackson-{part}:2.16.2" for part in ("databind", "core", "annotations")]
RELEASES = {  # the newest first: it has the last word on a version that both know
    "4.3.0": ("clients", "group-coordinator", "transaction-coordinator", "share-coordinator"),
    "3.9.1": ("clients", "group-coordinator", "transaction-coordinator"),
}
SAMPLES = 4
# Names that do not follow from ours: two acronyms, and an API that was renamed.
NAMES = {"isKraftController": "isKRaftController", "enable2pc": "enable2Pc"}


@pytest.mark.java
@pytest.mark.slow
def test_bytes_of_kafkas_own_encoders(capsys: pytest.CaptureFixture[str]) -> None:
    require_java()
    wanted = [*api_messages(), *stored_messages()]
    rng = random.Random(39)
    cases = [(cls, version, instance(cls, version, rng)) for cls, version in wanted for _ in range(SAMPLES)]
    checked: set[tuple[type[Message], int]] = set()
    wrong: list[str] = []
    for release, parts in RELEASES.items():
        jars = fetch_jars(
            *(f"org.apache.kafka:kafka-{part}:{release}" for part in parts), *JACKSON, "org.slf4j:slf4j-api:1.7.36"
        )
        cases = [case for case in cases if case[:2] not in checked]
        lines = "\n".join(f"{java_name(cls)} {version} {as_json(message, version)}" for cls, version, message in cases)
        answers = run_java(Path(__file__).with_name("MessageOracle.java"), jars, stdin=lines).splitlines()
        assert len(answers) == len(cases)
        for (cls, version, message), answer in zip(cases, answers, strict=True):
            if answer.startswith("-"):
                continue
            checked.add((cls, version))
            if answer != "+" + encode(message, version).hex():
                wrong.append(f"{release} {cls.__name__} v{version}: {answer[:150]}")
    with capsys.disabled():
        print(f"\n{len(checked)} of {len(wanted)} message versions byte-identical with Apache Kafka's encoders")
    assert not wrong, "\n".join(wrong[:20])
    assert set(wanted) == checked, sorted(f"{cls.__name__} v{version}" for cls, version in set(wanted) - checked)


def java_name(cls: type[Message]) -> str:
    return cls.__name__ + ("Data" if cls.__name__.endswith(("Request", "Response")) else "")


def as_json(message: Message, version: int) -> str:
    return json.dumps(_object(message, version))


def _object(value: Struct, version: int) -> dict[str, Any]:
    fields = {}
    for field in value.FIELDS:
        content = getattr(value, field.name)
        if version in field.versions and not (field.tag is not None and content == field.default):
            head, *rest = field.name.split("_")
            name = head + "".join(part[:1].upper() + part[1:] for part in rest)
            fields[NAMES.get(name, name)] = _json(field.kind, content, version)
    return fields


def _json(kind: Kind, value: Any, version: int) -> Any:
    if value is None:
        return None
    if isinstance(kind, Array):
        return [_json(kind.of, item, version) for item in value]
    if not isinstance(kind, str):
        return _object(value, version)
    if kind == "16s":
        return base64.urlsafe_b64encode(value).decode().rstrip("=")
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
