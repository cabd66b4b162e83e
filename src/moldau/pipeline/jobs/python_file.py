"""Loading a pipeline from a Python file, which is run as a module of its own."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from moldau.pipeline.jobs.decorators import Collected, collect_into
from moldau.pipeline.jobs.definition import Pipeline, PipelineError, check_pipeline
from moldau.pipeline.jobs.parameters import resolve
from moldau.pipeline.jobs.servers import servers_or_default

MODULE_PREFIX: Final = "moldau_pipeline_"


def read_python(path: Path, given: Mapping[str, str], servers: str | None = None) -> Pipeline:
    """The pipeline that the decorated functions of a file make, with these brokers for sinks that name none."""
    collected = Collected(given, servers=servers_or_default(servers))
    before = collect_into(collected)
    try:
        _load(path)
    finally:
        collect_into(before)
    resolve(collected.parameters, given, path.name)
    steps = [*collected.steps]
    return check_pipeline(Pipeline(path.stem, collected.sources, steps, collected.sinks))


def _load(path: Path) -> None:
    if not path.is_file():
        raise PipelineError(f"{path} cannot be read: there is no such file")
    name = f"{MODULE_PREFIX}{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PipelineError(f"{path} is no Python file: its name has to end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))  # for what it imports, as if it were run
    try:
        spec.loader.exec_module(module)
    except PipelineError as error:
        raise PipelineError(f"{path.name}: {error}") from error
    except Exception as error:
        raise PipelineError(f"{path.name}{_line_of(error, path)}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent))


def _line_of(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError):
        return f" line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f" line {lines[-1]}" if lines else ""
