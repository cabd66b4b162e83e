"""The habits of style, kept by tests: sizes, names, registrations and links."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import iter_modules

import moldau.broker.handlers
import moldau.protocol.messages
from moldau.broker.handlers import all_registrations
from moldau.protocol.api import ApiKey, request_class, response_class

ROOT = Path(__file__).parent.parent.parent
CODE = [path for folder in ("src", "tests", "bench", "examples") for path in sorted((ROOT / folder).rglob("*.py"))]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")]

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
VAGUE_NAME = re.compile(r"(Utils?|Helpers?|Managers?|Common|Misc)$")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def definitions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Functions and classes, at any depth. Expressions hold none, and are most of a tree."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield child
            yield from definitions(child)


def test_no_file_is_too_long() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in CODE}
    assert {name: length for name, length in lengths.items() if length > FILE_LINES_MAX} == {}


def test_no_file_has_a_banned_name() -> None:
    assert [path for path in CODE if BANNED_NAMES & set(re.split(r"[_/.]", str(path.relative_to(ROOT))))] == []


def test_functions_are_short_classes_well_named_and_modules_documented() -> None:
    """In one test, so that all code is parsed once, and no tree is kept: the collector would look at it ever after."""
    long, vague, silent = [], [], []
    for path in CODE:
        name, text = path.relative_to(ROOT), path.read_text()
        tree = ast.parse(text)
        if text.strip() and not ast.get_docstring(tree):
            silent.append(name)
        for node in definitions(tree):
            if isinstance(node, ast.ClassDef):
                if VAGUE_NAME.search(node.name):
                    vague.append(f"{name} {node.name}")
            elif (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES_MAX:
                long.append(f"{name}:{node.lineno} {node.name}")
    assert (long, vague, silent) == ([], [], [])


def test_every_message_file_is_an_api() -> None:
    files = {module.name for module in iter_modules(moldau.protocol.messages.__path__)}
    assert files == {key.name.lower() for key in ApiKey}
    for key in ApiKey:
        request, response = request_class(key), response_class(key)
        assert request.KEY == response.KEY == key
        assert (request.VERSIONS, request.FLEXIBLE) == (response.VERSIONS, response.FLEXIBLE), key


def test_every_handler_file_registers_its_api() -> None:
    files = {module.name for module in iter_modules(moldau.broker.handlers.__path__)}
    assert files == {key.name.lower() for key in all_registrations()}


def test_links_in_documents_are_alive() -> None:
    dead = [
        f"{document.relative_to(ROOT)}: {target}"
        for document in DOCUMENTS
        for target in LINK.findall(document.read_text())
        if "://" not in target and not (document.parent / target).exists()
    ]
    assert dead == []


def test_nothing_names_this_machine() -> None:
    words = ("/".join(("", "work", "")), "/".join(("", "root", "")))
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in [*CODE, *DOCUMENTS, ROOT / "Makefile", ROOT / "pyproject.toml"]
        for word in words
        if word in path.read_text()
    ]
    assert found == []
