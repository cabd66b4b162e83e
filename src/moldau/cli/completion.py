"""`moldau completion`: what makes a shell complete the commands, actions and options of `moldau`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from moldau.cli.command import Command

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="for which shell")


def run(arguments: Namespace) -> int:
    from moldau.cli.completion_scripts import SCRIPTS, words_of_all

    print(SCRIPTS[arguments.shell](words_of_all()), end="")
    return 0


COMMAND = Command(
    "completion",
    "print what makes a shell complete these commands",
    add_arguments,
    run,
    [
        ("source <(moldau completion bash)", "in ~/.bashrc"),
        ("source <(moldau completion zsh)", "in ~/.zshrc, behind compinit"),
        ("moldau completion fish > ~/.config/fish/completions/moldau.fish", "once"),
    ],
)
