"""Documents as scripts: their blocks of code run in order, in one shell, and print what the text below them says.

A block of `sh` or `python` is a step, and a block of `text` behind it, if there is one, is what it prints; `…` stands
for anything. A block that is not run has a comment in front of it that says why: `<!-- not run: it needs Docker -->`.
One with `<!-- file: orders.toml -->` in front of it is a file that the steps behind it find, and `<!-- added to: … -->`
is more of it.
Tests run beside each other, so the ports of the documents are exchanged for free ones, and servers are waited for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.walkthroughs.transcript import Step

_FENCE = re.compile(r"^```(\w*)$")
_NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
_FILE = re.compile(r"^<!-- (file|added to): (\S+) -->$")
_SERVE = re.compile(r"^moldau serve(.*?) &$")
_PORT = re.compile(r"\b(9092|9093|9094|19092)\b")
RUN = ("sh", "python")
ANYTHING = ("#*", "")


@dataclass(frozen=True, slots=True)
class Block:
    """What is between two fences; `reason` says why it is not run, `file` in which file it is to be."""

    line: int
    language: str
    text: str
    reason: str | None = None
    file: str | None = None
    is_added: bool = False

    @property
    def is_run(self) -> bool:
        return self.language in RUN and self.reason is None and self.file is None


def blocks_of(text: str) -> list[Block]:
    blocks: list[Block] = []
    opened: tuple[int, str] | None = None
    content: list[str] = []
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if opened is None and fence:
            opened, content = (number, fence[1]), []
        elif opened is not None and line == "```":
            blocks.append(_block(*opened, "\n".join(content), before))
            opened = None
            before = ""
        elif opened is not None:
            content.append(line)
        elif line.strip():
            before = line
    return blocks


def _block(line: int, language: str, text: str, before: str) -> Block:
    reason, file = _NOT_RUN.match(before), _FILE.match(before)
    if file:
        return Block(line, language, text, file=file[2], is_added=file[1] == "added to")
    return Block(line, language, text, reason[1] if reason else None)


def steps_of(blocks: list[Block], ports: Mapping[str, str]) -> list[Step]:
    steps: list[Step] = []
    runs = False
    for block in blocks:
        if block.language == "text" and runs:
            steps[-1].expected = [_expected(line) for line in block.text.splitlines()]
        runs = block.is_run
        if not runs and block.file is None:
            continue
        text = with_ports(block.text, ports)
        if block.file is not None:
            commands = [f"cat {'>>' if block.is_added else '>'} {block.file} <<'FILE'\n{text}\nFILE"]
        elif block.language == "python":
            # What a program logs is not what it prints.
            commands = [f"python - 2> logs/program-{block.line}.err <<'PROGRAM'\n{text}\nPROGRAM"]
        else:
            commands = [_waiting(line, block.line, ports) for line in text.splitlines()]
        steps.append(Step(block.line, commands, [ANYTHING]))
    return steps


def with_ports(text: str, ports: Mapping[str, str]) -> str:
    return _PORT.sub(lambda found: ports[found[1]], text)


def _expected(line: str) -> tuple[str, str]:
    if line == "…":
        return ANYTHING
    return ("#~", ".*".join(map(re.escape, line.rstrip().split("…")))) if "…" in line else ("#>", line)


def agree(printed: str, expected: str) -> bool:
    """Whether this is what a block of text says; empty lines do not count."""
    pattern = "".join(
        r"(?:.*\n)*" if line == "…" else ".*".join(map(re.escape, line.rstrip().split("…"))) + r"\n"
        for line in expected.splitlines()
        if line.strip()
    )
    lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines() if line.strip())
    return re.fullmatch(pattern, lines) is not None


def _waiting(line: str, number: int, ports: Mapping[str, str]) -> str:
    """A server in the background: on a port that is free, with its output in a file, and waited for."""
    found = _SERVE.match(line)
    if found is None:
        return line
    options = found[1] if "--port" in found[1] else f"{found[1]} --port {ports['9092']}"
    brokers = re.search(r"--brokers (\d+)", options)
    said = f"logs/serve-{number}"
    return (
        f"moldau serve{options} > {said}.out 2>&1 &\necho $! > {said}.pid\n"
        f"wait_for sh -c 'test $(grep -c \"listens on\" {said}.out) = {brokers[1] if brokers else 1}'"
    )


def unexplained(path: Path, known: Mapping[str, str]) -> list[str]:
    """Blocks that look like code, are not run, and do not say why."""
    return [
        f"{path.name}:{block.line} ({block.language or 'no language'})"
        for block in blocks_of(path.read_text())
        if block.language not in (*RUN, "text", "properties")
        and block.reason is None
        and block.file is None
        and first_line(block) not in known
    ]


def first_line(block: Block) -> str:
    return block.text.splitlines()[0] if block.text else ""
