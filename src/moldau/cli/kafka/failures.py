"""What ends a tool before its time, and how that is told."""

from __future__ import annotations

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError

# Kafka's words where an answer has an error code and no text.
_MEANING = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "Deleting offsets of a topic is forbidden while the group reads it.",
    ErrorCode.OFFSET_OUT_OF_RANGE: "The requested offset is not within the range of offsets maintained by the server.",
}


class ToolFailed(MoldauError):
    """The tool cannot do what it is asked for; the text says why."""


class WrongUsage(ToolFailed):
    """The command line makes no sense; the text is Kafka's, and the tool's help is pointed to."""


def text_of(error: BaseException) -> str:
    """An error for a person: what a broker says of it; its code's meaning if that is a mere name, or nothing."""
    if isinstance(error, ApiError):
        if " " in error.message:
            return error.message
        meaning = _MEANING.get(error.code, error.code.name)
        return f"{meaning} ({error.message})" if error.message else meaning
    return str(error) or type(error).__name__
