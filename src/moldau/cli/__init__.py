"""The commands of `moldau`, one file each.

Nouns, bottom-up:

    terminal/            tables, JSON, progress, questions: what a person sees
    command              Command: its parser and what it does; CommandGroup: several about one thing
    cluster_arguments    where the cluster is
    cluster_sample       a cluster at one moment, and rates between two
    health/              what `moldau doctor` looks at
    topics, groups, produce, consume, top, doctor, bench, serve, …
                         a command each (`COMMAND`); what it does when it runs is in a module beside it, which --help
                         does not load
    kafka/               Kafka's own commands
    main                 finds the command, and tells what goes wrong

Invariants: `--help` of every command ends in examples; an error is one or two lines on standard error and a non-zero
exit, with a traceback only for `--debug`; a command loads its own modules and no other's.
May import: everything; only the command that starts a broker imports `broker`.
"""
