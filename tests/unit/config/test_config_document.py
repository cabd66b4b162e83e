"""The document and the help text say what the tables say."""

from __future__ import annotations

from pathlib import Path

from moldau.base.config.document import document
from moldau.base.config.help import help_text
from moldau.base.config.schema import Scope
from moldau.base.config.scopes import schema_of

DOCUMENT = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_document_is_up_to_date() -> None:
    assert DOCUMENT.read_text() == document(), "run: python -m moldau.base.config.document > docs/configuration.md"


def test_every_setting_is_in_the_document() -> None:
    text = document()
    for scope in Scope:
        for name in schema_of(scope):
            assert f"| `{name}` |" in text


def test_the_document_says_what_is_not_obeyed() -> None:
    rows = {line.split("`")[1]: line for line in document().splitlines() if line.startswith("| `")}
    assert "| not implemented |" in rows["process.roles"]
    assert "| no effect: one event loop does this work |" in rows["num.io.threads"]
    assert "| yes |" in rows["queued.max.requests"]
    assert "604800000 (7 days)" in rows["retention.ms"]
    assert rows["retention.ms"].endswith("Inherits `log.retention.ms`. |")
    fallbacks = "`log.retention.minutes` times 60000, then `log.retention.hours` times 3600000."
    assert rows["log.retention.ms"].endswith(f"If null: {fallbacks} |")


def test_help_is_found_by_a_part_of_a_name_or_by_a_pattern() -> None:
    assert help_text(Scope.BROKER, "queued.max.requests").splitlines() == [
        "queued.max.requests (int)",
        "    Requests read and not yet answered, over all connections, before reading pauses.",
        "    default: 500; allowed: [1,...]; obeyed here: yes",
    ]
    assert help_text(Scope.TOPIC, "segment.?s").startswith("segment.ms (long)")
    assert help_text(Scope.TOPIC, "no.such") == ""
    assert help_text(Scope.ADMIN).count("obeyed here") == 74
    assert all(len(line) <= 100 for line in help_text(Scope.BROKER).splitlines() if "/" not in line)
