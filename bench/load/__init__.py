"""Load on a broker, each kind a program of its own, so that a client never shares a process with what measures it.

Nouns: a load (`python -m bench.load.NAME`, settings as JSON in its argument, figures as JSON on its output) and
`run_load`, which starts one and reads its figures. A load checks its own work: it fails unless everything sent has
arrived.
"""
