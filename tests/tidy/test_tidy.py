"""The habits of style, kept by tests: sizes, names, registrations and links."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
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
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_no_file_is_too_long() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in CODE}
    assert {name: length for name, length in lengths.items() if length > FILE_LINES_MAX} == {}


def test_no_function_is_too_long() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in CODE
        for node in functions(path)
        if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_names_say_what_a_thing_is() -> None:
    paths = [path for path in CODE if BANNED_NAMES & set(re.split(r"[_/.]", str(path.relative_to(ROOT))))]
    classes = [
        f"{path.relative_to(ROOT)} {node.name}"
        for path in CODE
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and re.search(r"(Utils?|Helpers?|Managers?|Common|Misc)$", node.name)
    ]
    assert (paths, classes) == ([], [])


def test_every_module_says_what_it_is() -> None:
    silent = [path for path in CODE if path.read_text().strip() and not ast.get_docstring(tree(path))]
    assert silent == []


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
