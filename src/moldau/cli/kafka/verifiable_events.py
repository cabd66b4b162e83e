"""Events of the verifiable clients: a JSON object a line, with the time and a name first."""

from __future__ import annotations

import json

from moldau.base.clock import SystemClock


def tell(name: str, **fields: object) -> None:
    event = {"timestamp": SystemClock().now_ms(), "name": name, **fields}
    print(json.dumps(event, separators=(",", ":")), flush=True)
