"""The configuration of a producer, a consumer or an admin client."""

from __future__ import annotations

from collections.abc import Mapping

from moldau.base.config.config import Config
from moldau.base.config.layer import ConfigSource, raise_problems, read_layer, resolve
from moldau.base.config.notices import log_notices
from moldau.base.config.rules.client import CLIENT_DERIVATIONS, CLIENT_RULES
from moldau.base.config.schema import Scope
from moldau.base.config.scopes import schema_of


def load_client_config(scope: Scope, settings: Mapping[str, object]) -> Config:
    """The validated values of a client; says in the log what changes nothing.

    Texts are read as a properties file would give them; Python values of the setting's type are taken as they
    are.
    """
    assert scope in CLIENT_RULES, scope
    schema = schema_of(scope)
    problems: list[str] = []
    # A client has no sources beside what it is given and the defaults; the number says "not a default".
    layer = read_layer(schema, ConfigSource.STATIC_BROKER, settings, problems)
    values = resolve(schema, (layer,), problems)
    raise_problems(problems)
    explicit = layer.values.keys()
    for derive in CLIENT_DERIVATIONS[scope]:
        derive(values, explicit)
    config = Config(schema, values, explicit)
    raise_problems([problem for rule in CLIENT_RULES[scope] for problem in rule(config)])
    log_notices(schema, layer)
    return config
