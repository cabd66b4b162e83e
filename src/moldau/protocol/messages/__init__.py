"""The requests and responses of the protocol, one file per API, in the protocol's own names.

A file's head says what each version changed: `request +` and `answer -` are fields that came and went.
`moldau.protocol.api` finds the classes by API key and imports a file when it is first needed.
"""
