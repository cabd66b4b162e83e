"""Programs that show the parts at work.

Each has a `main(bootstrap_servers, …)` and can be run: `python -m examples.producer_basic localhost:9092`. Those that
would read for ever stop after so many records, or seconds, as `main` is told.
"""
