"""Who reads what in an old group: each topic's partitions in ranges over all threads that want it.

Everybody computes the same from the same names, so nobody has to be asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def thread_ids(consumer: str, count: int) -> list[str]:
    return [f"{consumer}-{number}" for number in range(count)]


def shared_out(partitions: Iterable[int], threads: Iterable[str]) -> dict[int, str]:
    """The thread of each partition of a topic; with more threads than partitions the last ones are idle."""
    numbers, names = sorted(partitions), sorted(threads)
    if not names:
        return {}
    each, more = divmod(len(numbers), len(names))
    owners: dict[int, str] = {}
    start = 0
    for position, name in enumerate(names):
        end = start + each + (position < more)
        owners |= dict.fromkeys(numbers[start:end], name)
        start = end
    return owners


def own_share(
    topic: str, partitions: Iterable[int], registrations: Mapping[str, Mapping[str, int]], consumer: str
) -> dict[int, int]:
    """Which of a consumer's threads, by its number, reads which of the topic's partitions."""
    threads = [thread for name, wanted in registrations.items() for thread in thread_ids(name, wanted.get(topic, 0))]
    own = {thread: number for number, thread in enumerate(thread_ids(consumer, registrations[consumer].get(topic, 0)))}
    return {number: own[thread] for number, thread in shared_out(partitions, threads).items() if thread in own}
