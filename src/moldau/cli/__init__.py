"""The commands of `moldau`, one file each.

Nouns: a command (a function that typer turns into one).
Invariants: `--help` of every command ends in examples; an error is one line on standard error and a non-zero exit.
May import: everything; only the command that starts a broker imports `broker`.
"""
