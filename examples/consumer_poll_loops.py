"""Two ways to end a loop of polls: a flag that is looked at now and then, and a wakeup from another thread."""

from __future__ import annotations

import sys
from threading import Event, Timer

from moldau import Consumer
from moldau.clients.consumer.errors import WakeUp

TOPIC = "my-topic"


def settings(bootstrap_servers: str, group_id: str) -> dict[str, object]:
    return {"bootstrap.servers": bootstrap_servers, "group.id": group_id, "auto.offset.reset": "earliest"}


def poll_while_running(consumer: Consumer, stop: Event) -> None:
    """For a consumer that has other things to do, too: it looks at the flag after each poll."""
    consumer.subscribe([TOPIC])
    while not stop.is_set():
        for record in consumer.poll(0.2):
            print(f"topic = {record.topic}, partition={record.partition}, offset={record.offset}")


def poll_until_woken(consumer: Consumer) -> None:
    """For a consumer that has nothing else to do: it polls for ever, and is woken."""
    consumer.subscribe([TOPIC])
    try:
        while True:
            for record in consumer.poll(3600):
                print(f"topic = {record.topic}, partition={record.partition}, offset={record.offset}")
    except WakeUp:
        print("woken")


def main(bootstrap_servers: str = "localhost:9092", seconds: str = "10") -> None:
    with Consumer(settings(bootstrap_servers, "with-a-flag")) as consumer:
        stop = Event()
        Timer(float(seconds), stop.set).start()
        poll_while_running(consumer, stop)
    with Consumer(settings(bootstrap_servers, "with-wakeup")) as consumer:
        Timer(float(seconds), consumer.wakeup).start()
        poll_until_woken(consumer)


if __name__ == "__main__":
    main(*sys.argv[1:])
