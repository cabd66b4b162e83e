"""What `moldau doctor` looks at: each file is a kind of check, each check yields findings.

Nouns: Finding (what was looked at, how it is, what to do), Limits (from where on it is worth a warning), examination
(all checks, one after the other).
Invariants: a check that cannot be made is a finding, and not the end; nothing is changed.
May import: clients.
"""
