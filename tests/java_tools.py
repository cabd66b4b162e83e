"""Java for tests: the runtime, and jars from Maven Central, fetched once into `build/jars`."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
JARS = ROOT / "build" / "jars"
POM = """<project><modelVersion>4.0.0</modelVersion><groupId>moldau</groupId><artifactId>jars</artifactId>
<version>1</version><packaging>pom</packaging><dependencies>{}</dependencies></project>"""
DEPENDENCY = """<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"""
ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


def require_java() -> None:
    """Skip where a machine has no Java or Maven; fail where that must not be."""
    missing = [command for command in ("java", "mvn") if shutil.which(command) is None]
    if missing:
        reason = f"needs {' and '.join(missing)} on PATH"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


def fetch_jars(*artifacts: str, transitive: bool = False) -> Path:
    """A folder with the jars of `group:artifact:version`: these alone, or with all that they need."""
    wanted = [*artifacts, *(["transitive"] if transitive else [])]
    folder = JARS / hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:12]
    if not folder.exists():
        making = folder.with_suffix(f".{os.getpid()}")
        making.mkdir(parents=True)
        exclusions = "" if transitive else ALONE
        entries = "".join(DEPENDENCY.format(*artifact.split(":"), exclusions) for artifact in artifacts)
        (making / "pom.xml").write_text(POM.format(entries))
        subprocess.run(
            ["mvn", "-q", "-B", "-f", making / "pom.xml", PLUGIN, f"-DoutputDirectory={making}"],
            check=True,
            timeout=300,
        )
        try:
            making.rename(folder)
        except OSError:  # another test process was faster
            shutil.rmtree(making)
    return folder


def run_java(source: Path, jars: Path, *arguments: str, stdin: str = "", timeout_s: int = 120) -> str:
    """What a single-file Java program prints."""
    return _output([str(source), *arguments], jars, stdin, timeout_s)


def run_java_class(name: str, jars: Path, *arguments: str, timeout_s: int = 60) -> str:
    """What the main method of a class in the jars prints; quick to start rather than to run."""
    return _output(["-XX:TieredStopAtLevel=1", name, *arguments], jars, "", timeout_s)


def _output(arguments: list[str], jars: Path, stdin: str, timeout_s: int) -> str:
    command = ["java", "-Xshare:auto", "-cp", f"{jars}/*", *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
