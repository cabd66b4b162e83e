"""What a person sees: tables, progress, questions.

Nouns: a column and the rows below it (`tables`), progress of long work (`progress`), a question before what cannot be
undone (`questions`).
Invariants: what a report prints as a table it prints as JSON too, from the same rows; colour and movement are for
terminals only, and a pipe gets plain text; progress goes to standard error.
May import: base. `rich` is loaded when a terminal is there to be drawn on.
"""
