"""Kafka's commands under their own names, one file each: flags, columns, texts and exit codes of Kafka 3.9's tools.

Nouns, bottom-up:

    failures     what a person did wrong, in one or two lines
    parser       flags as Kafka's tools read them: one dash or two, `--name=value`, no abbreviations
    tool         Tool: a name, its flags, what it does; and how everything that goes wrong ends
    connecting   the flags that say where the cluster is; Connection: the admin operations a tool needs, and no more
    zookeeper    the brokers behind `--zookeeper`, a flag of older days
    tables       columns
    scripts      all tools: script names, modules, Java class names

Each tool's module has `main`, the entry point of its console script.

Invariants: nothing is imported for `--help` but the parser; an error is told in one or two lines on standard error,
with an exit code other than 0, and a traceback only with `--debug`; Ctrl-C ends every tool quietly.
May import: clients, and what `moldau serve` imports for the scripts that start servers; storage for kafka-dump-log.
"""
