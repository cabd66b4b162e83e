"""The broker's own log levels, as the BROKER_LOGGER resource (KIP-412).

They are the levels of Python's loggers below `moldau`, under the names of log4j's levels; `root` is the root logger.
They last until the process ends.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.config_operations import ConfigOperation, OperationType

ROOT: Final = "root"
_PACKAGE: Final = "moldau"
_TRACE: Final = 5  # below Python's lowest
_LEVELS: Final = {
    "DEBUG": logging.DEBUG,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
    "TRACE": _TRACE,
    "WARN": logging.WARNING,
}

logger = logging.getLogger(__name__)


def logger_levels() -> dict[str, str]:
    """The level in force of every logger that can be set."""
    known = logging.root.manager.loggerDict
    names = [name for name in known if name == _PACKAGE or name.startswith(f"{_PACKAGE}.")]
    return {ROOT: _level_name(logging.root), **{name: _level_name(logging.getLogger(name)) for name in sorted(names)}}


def _level_name(of: logging.Logger) -> str:
    level = of.getEffectiveLevel()
    nearest = min(_LEVELS.values(), key=lambda known: (abs(known - level), known))
    return next(name for name, known in _LEVELS.items() if known == nearest)


def check_levels(operations: Iterable[ConfigOperation]) -> None:
    names = logger_levels()
    for name, operation, value in operations:
        if operation not in (OperationType.SET, OperationType.DELETE):
            text = f"{operation.name} operation is not allowed for the BROKER_LOGGER resource"
            raise ApiError(ErrorCode.INVALID_REQUEST, text)
        if name not in names:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
        if operation is OperationType.SET and value not in _LEVELS:
            raise ApiError(
                ErrorCode.INVALID_CONFIG,
                f"Cannot set the log level of {name} to {value} as it is not a supported log level. "
                f"Valid log levels are {', '.join(_LEVELS)}",
            )
        if operation is OperationType.DELETE and name == ROOT:
            text = f"Removing the log level of the {ROOT} logger is not allowed"
            raise ApiError(ErrorCode.INVALID_REQUEST, text)


def set_levels(operations: Iterable[ConfigOperation]) -> None:
    """DELETE leaves a logger with the level of the one above it."""
    for name, operation, value in operations:
        of = logging.root if name == ROOT else logging.getLogger(name)
        of.setLevel(_LEVELS[value] if operation is OperationType.SET else logging.NOTSET)
        logger.warning("the log level of %s is now %s", name, value if operation is OperationType.SET else "inherited")
