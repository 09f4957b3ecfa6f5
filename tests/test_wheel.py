"""What wheels contain: the kernels of their own build, or none."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

import rankwise as rw

ROOT = Path(__file__).parents[1]
STALE = b"a library of an earlier build"


@pytest.fixture
def source(tmp_path):
    """Return a copy of what a wheel is built from, in which a stale library lies about."""
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path / name)
    ignored = shutil.ignore_patterns("__pycache__", "_kernels.*")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignored)
    for suffix in (".so", ".dylib", ".dll"):
        (tmp_path / f"src/rankwise/core/_kernels{suffix}").write_bytes(STALE)
    return tmp_path


def built(source):
    """Build a wheel; return its name, and its libraries with their content."""
    builder = WheelBuilder(str(source))
    path = Path(next(iter(builder.build(directory=str(source / "dist"), versions=["standard"]))))
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        assert "rankwise/core/kernels.c" in names
        return path.name, [wheel.read(name) for name in names if "_kernels." in name]


def metadata(source):
    """Build a wheel; return its metadata."""
    path = next(
        iter(WheelBuilder(str(source)).build(directory=str(source / "dist"), versions=["standard"]))
    )
    with zipfile.ZipFile(path) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        return wheel.read(name).decode()


def test_a_description_has_no_dead_links(source, monkeypatch):
    """A package index has no files beside it: what a relative link names is not there."""
    monkeypatch.setenv("RANKWISE_KERNELS", "off")
    monkeypatch.delenv("RANKWISE_REPOSITORY", raising=False)
    text = metadata(source)
    assert "\nProject-URL" not in text
    assert "](" not in text
    assert "<!--" not in text
    assert "which metric answers which question" in text  # what was the text of a link


def test_links_of_a_description_lead_to_the_repository(source, monkeypatch):
    monkeypatch.setenv("RANKWISE_KERNELS", "off")
    monkeypatch.setenv("RANKWISE_REPOSITORY", "https://forge.example/them/it/")
    text = metadata(source)
    version = re.search(r"^Version: (.*)$", text, re.MULTILINE)[1]
    assert "Project-URL: Source, https://forge.example/them/it\n" in text
    assert (
        f"![The first page of an HTML report](https://forge.example/them/it/raw/v{version}/docs/images/report.png)"
        in text
    )
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert len(links) > 20
    for link in [
        *links,
        *re.findall(r"^Project-URL: (?:Documentation|Changelog), (.*)$", text, re.MULTILINE),
    ]:
        path = re.fullmatch(
            rf"https://forge\.example/them/it/(?:raw|blob)/v{re.escape(version)}/([^#]*)(?:#.*)?",
            link,
        )
        assert path, f"a relative link: {link}"
        assert (ROOT / path[1]).exists(), link
    assert not re.findall(r"(?:src|href)=", text)  # links of HTML are not rewritten


@pytest.mark.slow
def test_a_wheel_works_as_a_zip(source, monkeypatch):
    """Spark's ``--py-files`` puts a zip on the path; no library can be loaded from it."""
    monkeypatch.delenv("RANKWISE_KERNELS", raising=False)
    wheel = next(
        iter(WheelBuilder(str(source)).build(directory=str(source / "dist"), versions=["standard"]))
    )
    packed = shutil.copy(wheel, source / "rankwise.zip")
    code = (
        f"import sys; sys.path.insert(0, {str(packed)!r})\n"
        "import rankwise as rw\n"
        "from rankwise.core import kernels\n"
        "result = rw.evaluate({1: [2, 3]}, {1: [3]}, 'ndcg@2')\n"
        "print(rw.__file__, kernels.implementation(), result['ndcg@2'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=source
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(packed))
    assert " numpy" in done.stdout
    value = rw.evaluate({1: [2, 3]}, {1: [3]}, "ndcg@2")["ndcg@2"]
    assert done.stdout.endswith(f" {value}\n")


def test_a_wheel_without_a_compiler_is_of_python_alone(source, monkeypatch):
    monkeypatch.setenv("RANKWISE_KERNELS", "off")
    name, libraries = built(source)
    assert name.endswith("-py3-none-any.whl")
    assert libraries == []


def test_a_compiler_that_fails_leaves_a_wheel_of_python_alone(source, monkeypatch):
    monkeypatch.delenv("RANKWISE_KERNELS", raising=False)
    for compiler in ("false", "no-such-compiler --flag"):
        monkeypatch.setenv("CC", compiler)
        assert built(source)[1] == []


def test_a_build_that_requires_kernels_fails_without_them(source, monkeypatch):
    monkeypatch.setenv("RANKWISE_KERNELS", "require")
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(RuntimeError, match=r"the kernels were not compiled, .*no-such-compiler"):
        built(source)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_build_that_requires_kernels_shows_what_the_compiler_says(source, monkeypatch):
    monkeypatch.setenv("RANKWISE_KERNELS", "require")
    monkeypatch.delenv("CC", raising=False)
    (source / "src/rankwise/core/kernels.c").write_text("int rw_source(void) { return nothing; }\n")
    with pytest.raises(RuntimeError, match=r"nothing.* undeclared"):
        built(source)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_wheel_of_a_platform_has_the_library_of_its_build(source, monkeypatch):
    monkeypatch.delenv("RANKWISE_KERNELS", raising=False)
    name, libraries = built(source)
    assert "-py3-none-" in name
    assert "any" not in name
    assert len(libraries) == 1
    assert libraries[0] != STALE
    stale = list((source / "src/rankwise/core").glob("_kernels.*"))
    assert all(path.read_bytes() == STALE for path in stale)  # nothing is built in place
