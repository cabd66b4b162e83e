"""The principal of a client, as a broker forwards it to the controller in an envelope (KIP-590)."""

from __future__ import annotations

from moldau.protocol.schema import Bool, Message, String, message


@message(versions="0", flexible="0+")
class DefaultPrincipalData(Message):
    type: String = ""
    name: String = ""
    token_authenticated: Bool = False
