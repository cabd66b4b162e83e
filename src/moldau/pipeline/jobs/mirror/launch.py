"""From settings to a mirror that runs: what `kafka-mirror-maker` does."""

from __future__ import annotations

import threading

from moldau.pipeline.jobs.mirror.settings import MirrorSettings
from moldau.pipeline.jobs.screen import screen_for
from moldau.pipeline.jobs.session import absolute, settings_for, start_session


def run_mirror(
    settings: MirrorSettings,
    *,
    master: str,
    checkpoint: str,
    translate_every_ms: float,
    aborts: bool = True,
    once: bool = False,
) -> None:
    """Until it is told to stop by a signal, or with `once` until all is copied that was there."""
    from moldau.pipeline.jobs.mirror.clusters import Clusters

    screen = screen_for()
    checkpoint = absolute(checkpoint)
    with Clusters(settings) as clusters:
        count = len(clusters.topics())  # whether anybody answers is known before Spark is started
        screen.say(
            f"mirror of {count} topics from {settings.consumer['bootstrap.servers']} to "
            f"{settings.producer['bootstrap.servers']} as group {settings.group}, checkpoint {checkpoint}"
        )
        from moldau.pipeline.jobs.failures import ending_with, told_of

        with told_of("mirror"):
            spark = start_session(f"mirror {settings.group}", master, settings_for(master, checkpoint, {}))
            from moldau.pipeline.jobs.mirror.rounds import Mirror
            from moldau.pipeline.jobs.running import stopped_by_signals

            stopping = threading.Event()
            with ending_with(screen.close, spark.stop), stopped_by_signals(stopping, screen.say):
                mirror = Mirror(settings, clusters, spark, checkpoint, screen, translate_every_ms, aborts, stopping)
                mirror.go(once=once)
