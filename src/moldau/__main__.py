"""`python -m moldau`: the same as the command `moldau`."""

from __future__ import annotations

from moldau.cli.main import main

if __name__ == "__main__":
    main()
