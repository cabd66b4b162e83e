"""Completion scripts, written from the commands themselves: each is a table of what may follow which words."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence

from moldau.cli.main import COMMANDS, find

# What may follow some words: after ("topics",) its actions, after ("topics", "list") the options of that.
Words = Mapping[tuple[str, ...], Sequence[str]]


def words_of_all() -> Words:
    table: dict[tuple[str, ...], list[str]] = {(): [*COMMANDS, "--help", "--version"]}
    for name in COMMANDS:
        for path, parser in find(name).parsers():
            if len(path) > 1:
                table.setdefault(path[:1], []).append(path[1])
            table[path] = options_of(parser)
    return table


def options_of(parser: ArgumentParser) -> list[str]:
    """Options by their long names, and the words that an argument may be."""
    words = []
    for action in parser._actions:
        words += [option for option in action.option_strings if option.startswith("--")]
        if not action.option_strings and action.choices is not None:
            words += [str(choice) for choice in action.choices]
    return words


def bash(table: Words) -> str:
    cases = "".join(
        f"        '{' '.join(path)}') words='{' '.join(words)}' ;;\n" for path, words in table.items() if path
    )
    return f"""# moldau completion bash
_moldau() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" path="" word words='{" ".join(table[()])}'
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in -*) continue ;; esac
        case "${{path:+$path }}$word" in
{_known(table, "            ", "|", "path=${path:+$path }$word ;;")}
        esac
    done
    case "$path" in
{cases}    esac
    COMPREPLY=( $(compgen -W "$words" -- "$current") )
}}
complete -o default -F _moldau moldau
"""


def _known(table: Words, indent: str, between: str, then: str) -> str:
    listed = between.join(f"'{' '.join(path)}'" for path in table if path)
    return f"{indent}{listed}) {then}"


def zsh(table: Words) -> str:
    """zsh runs what bash has, by its own emulation."""
    return f"# moldau completion zsh\nautoload -Uz bashcompinit && bashcompinit\n{bash(table)}"


def fish(table: Words) -> str:
    lines = [
        "# moldau completion fish",
        "complete -c moldau -f -n __fish_use_subcommand -a '" + " ".join(table[()]) + "'",
    ]
    for path, words in table.items():
        if not path:
            continue
        seen = " ; and ".join(f"__fish_seen_subcommand_from {word}" for word in path)
        actions = [word for word in words if not word.startswith("--")]
        lines += [f"complete -c moldau -n '{seen}' -l {word[2:]}" for word in words if word.startswith("--")]
        if actions and len(path) == 1:
            unseen = f"{seen} ; and not __fish_seen_subcommand_from {' '.join(actions)}"
            lines.append(f"complete -c moldau -f -n '{unseen}' -a '{' '.join(actions)}'")
    return "\n".join(lines) + "\n"


SCRIPTS: Mapping[str, Callable[[Words], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
