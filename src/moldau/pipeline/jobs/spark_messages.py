"""What is wrong, in the words of whoever found it, out of the text of one of Spark's errors.

Spark carries an error through several processes and puts around it what it knows: the traceback of Python, the stack of
Java, the plan, the state of the query. A person needs none of these to correct a name or a value; `--debug` shows them.

    [PYTHON_DATA_SOURCE_ERROR] Failed to …: Traceback (most recent call last):    what it begins with
      File "…/batch_reading.py", line 32, in partitions                            frames
    moldau.pipeline.options.OptionError: subscribe='none': there is no none …      what is looked for
     SQLSTATE: 38000                                                               what ends it
    === Streaming Query ===
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

LENGTH_MAX: Final = 1500

_TRACEBACK: Final = "Traceback (most recent call last):\n"
_ENDS: Final = re.compile(r"\n=== Streaming Query ===|\n\nJVM stacktrace")
_STREAM_FAILED: Final = re.compile(r"\[STREAM_FAILED\] Query \[[^]]*\] terminated with exception: ")
_FRAME: Final = re.compile(r'^\s+File "(?P<file>[^"]+)", line (?P<line>\d+)')
_PYTHON: Final = re.compile(r"(?P<name>[A-Za-z_][\w.]*)(?:: ?(?P<message>.*))?", re.DOTALL)
_OURS: Final = "moldau."
_PYSPARK: Final = "pyspark."

_CALLING: Final = re.compile(r"An error occurred while calling \S+\.\n: ")
_JAVA: Final = re.compile(r"(?P<package>(?:[a-z][\w$]*\.)+)(?P<name>[A-Z][\w$]*)(?:: (?P<message>.*))?", re.DOTALL)
_CAUSE: Final = "\nCaused by: "
_LOST_TASK: Final = re.compile(r"^.*Lost task [^(]*\(TID \d+\) \([^)]*\): ", re.DOTALL)
_WRAPPING: Final = re.compile(r"Job aborted|Writing job (?:aborted|failed)|\[(?:TASK_WRITE_FAILED|WRITING_JOB_\w+)\]")
_SQLSTATE: Final = re.compile(r"\s*SQLSTATE: [0-9A-Z]{5}")
# The SQL that an error is about, with its part underlined.
_UNDERLINED: Final = re.compile(r"== SQL[^\n]* ==\n(?P<sql>[^\n]+)\n(?P<blank> *)(?P<line>\^{4,})")


def message_in(text: str) -> str:
    """One line that says what is wrong; empty if the text is."""
    text = _STREAM_FAILED.sub("", _ENDS.split(text, maxsplit=1)[0])
    message = _of_python(text.rpartition(_TRACEBACK)[2]) if _TRACEBACK in text else ""
    message = message or _of_java(text)
    return message if len(message) <= LENGTH_MAX else f"{message[:LENGTH_MAX]}…"


def _of_python(trace: str) -> str:
    """The message behind the last traceback: of the errors that followed from each other, the one that was raised."""
    lines = trace.splitlines()
    frames = [found for found in map(_FRAME.match, lines) if found]
    at = next((number for number, line in enumerate(lines) if line.strip() and not line[0].isspace()), len(lines))
    found = _PYTHON.fullmatch("\n".join(lines[at:]))
    if found is None:
        return _in_a_line(lines[at:])
    name, message = found["name"], found["message"] or ""
    if name.startswith(_PYSPARK):
        return _of_java(message) or name
    told = _in_a_line(_until_stack(message.splitlines()))
    if name.startswith(_OURS) and told:
        return told
    # Somebody else's error may say nothing but `0`, and so it needs its name and its place.
    where = f" ({Path(frames[-1]['file']).name} line {frames[-1]['line']})" if frames else ""
    return f"{name}: {told}{where}" if told else f"{name}{where}"


def _of_java(text: str) -> str:
    text = _CALLING.sub("", text.strip())
    first, *causes = text.split(_CAUSE)
    message = _one_of_java(first)
    if causes and _WRAPPING.match(message):
        message = _one_of_java(causes[-1]) or message
    underlined = _UNDERLINED.search(text)
    if underlined is None:
        return message
    begin = len(underlined["blank"])
    return f"{message} In: {underlined['sql'][begin : begin + len(underlined['line'])]}"


def _one_of_java(text: str) -> str:
    told = _LOST_TASK.sub("", _in_a_line(_until_stack(text.strip().splitlines())))
    found = _JAVA.fullmatch(told)
    if found is None or not found["message"]:
        return told
    # Spark's own errors are sentences; others may be nothing but the name of a file or a class.
    is_sentence = found["package"].startswith("org.apache.spark.")
    return found["message"] if is_sentence else f"{found['name']}: {found['message']}"


def _until_stack(lines: list[str]) -> list[str]:
    """Without what comes behind a message: stack, plan, SQL, and the state that Spark has for its kind."""
    for number, line in enumerate(lines[1:], 1):
        if line.startswith(("\tat ", "Caused by: ", "Driver stacktrace:", "'", "+- ", "==", " SQLSTATE: ")):
            return lines[:number]
    return lines


def _in_a_line(lines: list[str]) -> str:
    text = " ".join(line.strip() for line in lines if line.strip())
    return _SQLSTATE.sub("", text).rstrip(" ;").replace(".; line ", ", line ")
