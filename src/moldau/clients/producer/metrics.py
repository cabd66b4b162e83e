"""What a producer counts, under the names of Kafka's producer metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moldau.clients.producer.core import ProducerCore


def producer_metrics(core: ProducerCore, age_ms: float) -> dict[str, float]:
    """Rates and averages are over the whole life of the producer."""
    counts, sender, accumulator = core.deliveries.counts, core.sender, core.accumulator
    seconds = max(age_ms / 1000, 0.001)
    batches, requests = max(1, counts.batches), max(1, sender.requests)
    limit = accumulator.limits.memory_bytes
    with accumulator.lock:
        used_bytes = accumulator.used_bytes
        incomplete = len(accumulator.incomplete)
        waiting_threads = accumulator.waiting_for_memory
    return {
        "record-send-total": counts.records,
        "record-send-rate": counts.records / seconds,
        "byte-total": counts.record_bytes,
        "byte-rate": counts.record_bytes / seconds,
        "record-error-total": counts.record_errors,
        "record-error-rate": counts.record_errors / seconds,
        "record-retry-total": counts.record_retries,
        "record-retry-rate": counts.record_retries / seconds,
        "batch-size-avg": counts.record_bytes / batches,
        "batch-size-max": counts.batch_bytes_max,
        "batch-split-total": counts.splits,
        "batch-split-rate": counts.splits / seconds,
        "records-per-request-avg": counts.records / requests,
        "record-size-avg": counts.record_bytes / max(1, counts.records),
        "request-total": sender.requests,
        "request-rate": sender.requests / seconds,
        "request-latency-avg": sender.request_latency_ms / requests,
        "request-latency-max": sender.request_latency_max_ms,
        "requests-in-flight": sender.in_flight,
        "buffer-total-bytes": limit,
        "buffer-available-bytes": limit - used_bytes,
        "waiting-threads": waiting_threads,
        "incomplete-batches": incomplete,
    }
