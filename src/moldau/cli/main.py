"""`moldau`: the entry point of all commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import moldau
from moldau.base.errors import MoldauError
from moldau.cli import serve, settings

app = typer.Typer(
    name="moldau",
    help="A Kafka-compatible streaming platform in Python.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("serve", epilog=serve.EXAMPLES)(serve.serve)
app.command("settings", epilog=settings.EXAMPLES)(settings.settings)


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        typer.echo(f"moldau {moldau.__version__}")
        raise typer.Exit


def main() -> None:
    try:
        app()
    except MoldauError as error:
        typer.echo(f"moldau: {error}", err=True)
        sys.exit(1)
