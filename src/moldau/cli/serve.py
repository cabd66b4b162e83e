"""`moldau serve`: start a broker, or several."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from moldau.cli.command import Command

PORT_MAX = 65535
BROKERS_MAX = 100


def port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= PORT_MAX:
        raise ValueError
    return number


def number_of_brokers(text: str) -> int:
    number = int(text)
    if not 1 <= number <= BROKERS_MAX:
        raise ValueError
    return number


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="Kafka's server.properties; options come before it")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a broker setting; may be repeated"
    )
    parser.add_argument("--port", type=port, help="where to listen, 9092 if nothing else is said; 0 is any free port")
    parser.add_argument("--data", type=Path, metavar="DIR", help="where the data is: the setting log.dirs")
    parser.add_argument(
        "--zookeeper",
        metavar="HOST:PORT[/CHROOT]",
        help="the ZooKeeper of the cluster, or auto: the one on port 2181 of this machine, started if there is none",
    )
    parser.add_argument(
        "--brokers",
        type=number_of_brokers,
        default=1,
        metavar="N",
        help="how many brokers, each with an id, a port and a directory of its own, counted up from the first",
    )
    parser.add_argument(
        "--processes",
        action="store_true",
        help="each broker as a process of its own, on a ZooKeeper, which is started unless --zookeeper names one",
    )
    parser.add_argument(
        "--stop-with-input", action="store_true", help="stop when standard input ends: for who starts it as a child"
    )
    parser.add_argument(
        "--log-level",
        default="INFO",
        metavar="LEVEL",
        help="DEBUG, INFO, WARNING or ERROR; parts may have their own: INFO,moldau.request=DEBUG",
    )


def run(arguments: Namespace) -> int:
    from moldau.cli.serving import serve_until_stopped, settings_of  # the broker's modules are not for --help to load

    settings = settings_of(arguments.config, arguments.set, arguments.port, arguments.data, arguments.zookeeper)
    if arguments.processes:
        from moldau.cli.serving_processes import serve_processes

        return serve_processes(settings, arguments.log_level, arguments.brokers)
    return serve_until_stopped(
        settings, arguments.log_level, arguments.brokers, stop_with_input=arguments.stop_with_input
    )


COMMAND = Command(
    "serve",
    "start a broker, and stop it on SIGINT or SIGTERM",
    add_arguments,
    run,
    [
        ("moldau serve", "a broker on port 9092, with its data in /tmp/kafka-logs"),
        ("moldau serve --port 19092 --data ./data", "on another port, with its data where you say"),
        (
            "moldau serve --config server.properties --set log.retention.hours=1",
            "as Kafka's own file says, but for one setting",
        ),
        ("moldau serve --brokers 3 --data ./data", "a cluster of three in one process, on ports 9092, 9093 and 9094"),
        ("moldau serve --brokers 3 --processes --data ./data", "a cluster of three processes, with a ZooKeeper"),
        ("moldau serve --zookeeper zk1:2181,zk2:2181/kafka", "one broker of a cluster that a ZooKeeper holds together"),
        ("moldau serve --log-level INFO,moldau.request=DEBUG", "with a line for every request, and how long it took"),
    ],
)
