"""Configuration under Kafka's names: what each setting is, and what a file, a client or a request made of it.

One row of a table (`tables/`) says everything about a setting: type, default, allowed values, whether it
is dynamic, whether this product obeys it, and one sentence of explanation. Parsing, validation, DescribeConfigs,
the help text and docs/configuration.md all follow from the rows, so that they cannot disagree.

Nouns: `Setting` (a row), `Schema` (the rows of one scope), `Layer` (values from one source), `Config` (an
immutable snapshot of resolved values), `BrokerConfig` and `TopicConfig` (snapshots with sources), `Listener`.
Invariants: a snapshot never changes, a change makes a new one; every value in it has been parsed and validated;
no password is ever shown by `repr`, in a log line, in an error or in a described entry.
May import: the standard library and `moldau.base.errors`. Nothing is imported here, since a producer must not
pay for the tables of the broker: name the module that is meant, as in `moldau.base.config.client_config`.
"""
