"""The commands of `moldau`, one file each.

Nouns: a command (`COMMAND`: its parser and what it does).
Invariants: `--help` of every command ends in examples; an error is one line on standard error and a non-zero exit; a
command loads its own modules and no other's.
May import: everything; only the command that starts a broker imports `broker`.
"""
