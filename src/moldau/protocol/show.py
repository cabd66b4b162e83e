"""Print the functions that are generated for a message: `python -m moldau.protocol.show Fetch 13`."""

from __future__ import annotations

import sys

from moldau.protocol.api import ApiKey, request_class, response_class
from moldau.protocol.codec import decoder_source, encoder_source

USAGE = """usage: python -m moldau.protocol.show API VERSION

Prints the Python that encodes and decodes the request and the response of an API in a version.
Examples:
    python -m moldau.protocol.show Fetch 13
    python -m moldau.protocol.show api_versions 3
"""


def show(name: str, version: int) -> str:
    """The text of the four functions of an API in a version."""
    wanted = name.replace("_", "").lower()
    key = next((key for key in ApiKey if key.title.lower() == wanted), None)
    if key is None:
        raise ValueError(f"no API {name!r}; the APIs are {', '.join(key.title for key in ApiKey)}")
    versions = request_class(key).VERSIONS
    if version not in versions:
        raise ValueError(f"{key.title} has versions {versions}, not {version}")
    sources = [
        write(cls, version)
        for cls in (request_class(key), response_class(key))
        for write in (encoder_source, decoder_source)
    ]
    return "\n".join(f"# {source.title.strip('<>')}\n{source.text}" for source in sources)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or not arguments[1].isdecimal():
        sys.stderr.write(USAGE)
        return 2
    try:
        sys.stdout.write(show(arguments[0], int(arguments[1])))
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
