"""`moldau serve`: start a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """Examples:

`moldau serve` — a broker on port 9092, with its data in /tmp/kafka-logs

`moldau serve --port 19092 --data ./data` — on another port, with its data where you say

`moldau serve --config server.properties --set log.retention.hours=1` — as Kafka's own file says, but for one setting"""


def serve(
    config: Annotated[
        Path | None, typer.Option(help="Kafka's server.properties; options on the command line come before it.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A broker setting; may be repeated.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Where to listen; 0 is any free port.", min=0, max=65535)] = None,
    data: Annotated[Path | None, typer.Option(help="Where the data is: the setting log.dirs.")] = None,
    log_level: Annotated[
        str, typer.Option(help="DEBUG, INFO, WARNING or ERROR; or for a part, such as moldau.net=DEBUG.")
    ] = "INFO",
) -> None:
    """Start a broker, and stop it on SIGINT or SIGTERM."""
    from moldau.cli.serving import serve_until_stopped, settings_of  # the broker's modules are not for --help to load

    raise typer.Exit(serve_until_stopped(settings_of(config, set_ or [], port, data), log_level))
