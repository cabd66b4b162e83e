"""What everything stands on: errors, clocks, timers, task supervision, configuration, ids and hashes.

Nouns: `Clock`, `TimingWheel`, `Timer`, `LoopTimers`, `Supervisor`, `Setting`, `ErrorCode`, `MoldauError`.
Invariants: nothing here knows of Kafka's wire, files or sockets; time comes only from a `Clock`.
May import: the standard library alone.
"""
