"""Compiles the kernels into the wheel, and writes the description that a package index shows.

Without a C compiler, or with RANKWISE_KERNELS=off, the wheel is of Python alone (py3-none-any);
with RANKWISE_KERNELS=require a build without kernels fails. The library knows nothing of Python, so
that one wheel per platform serves all its versions. It is compiled anew for every build, outside
the source unless the install is editable: no library that lies about can get into a wheel.

No address of the repository is known here. Where a release is made, the workflow says it in
RANKWISE_REPOSITORY; links and pictures of the README then lead there, and without it there are
none.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
FLAGS = ["-O3", "-std=c99", "-shared", "-ffp-contract=off"]  # no fused sums: the bits of NumPy

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^]]*)\]\((?P<path>(?!https?:)[^)]+)\)")


class Description(MetadataHookInterface):
    """The hook for the README and the addresses of the project."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the description of a package index, and the addresses if the repository's is known."""
        root = Path(self.root)
        version = runpy.run_path(str(root / "src/rankwise/core/__init__.py"))["__version__"]
        repository = os.environ.get("RANKWISE_REPOSITORY", "").rstrip("/") or None
        text = described((root / "README.md").read_text("utf-8"), repository, version)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        if repository is not None:
            files = f"{repository}/blob/v{version}"
            metadata["urls"] = {
                "Source": repository,
                "Documentation": f"{files}/docs/index.md",
                "Changelog": f"{files}/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }


def described(readme: str, repository: str | None, version: str) -> str:
    """Return a README whose relative links lead to a repository; without one, their text alone."""

    def link(part: re.Match[str]) -> str:
        if repository is None:
            return "" if part["picture"] else part["text"]
        kind = "raw" if part["picture"] else "blob"
        return f"{part['picture']}[{part['text']}]({repository}/{kind}/v{version}/{part['path']})"

    return re.sub(r"\n{3,}", "\n\n", LINK.sub(link, re.sub(r"<!--.*?-->\n", "", readme)))


class Kernels(BuildHookInterface[Any]):
    """The build hook."""

    folder: Path

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the library, and name the wheel by its platform if there is one."""
        core = Path(self.root) / "src" / "rankwise" / "core"
        in_place = core / f"_kernels{SUFFIX}"
        if version == "editable":
            in_place.unlink(missing_ok=True)
        self.folder = Path(tempfile.mkdtemp())
        library = in_place if version == "editable" else self.folder / in_place.name
        if not compiled(core / "kernels.c", library):
            return
        if version != "editable":
            build_data["force_include"][str(library)] = f"rankwise/core/{library.name}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"], build_data["tag"] = False, f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled; the wheel has it."""
        shutil.rmtree(self.folder, ignore_errors=True)


def compiled(source: Path, library: Path) -> bool:
    """Compile a source file; return whether there is a compiler and it did, or raise if it is required."""
    kernels = os.environ.get("RANKWISE_KERNELS", "").lower()
    if kernels == "off":
        return False
    failure = compiler_failure(source, library)
    if failure is not None and kernels == "require":
        raise RuntimeError(
            f"the kernels were not compiled, and RANKWISE_KERNELS=require: {failure}"
        )
    return failure is None


def compiler_failure(source: Path, library: Path) -> str | None:
    """Return why a source file cannot be compiled, or None once the library is there."""
    command = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if command is None:
        return "there is no C compiler; CC can name one"
    flags = FLAGS if sys.platform == "win32" else [*FLAGS, "-fPIC", "-lm"]
    checksum = f"-DRW_SOURCE={zlib.crc32(source.read_bytes())}u"
    arguments = [*shlex.split(command), checksum, str(source), "-o", str(library), *flags]
    try:
        done = subprocess.run(
            arguments, capture_output=True, check=False, encoding="utf-8", errors="replace"
        )
    except OSError as error:
        return str(error)
    return (done.stderr or f"exit code {done.returncode}") if done.returncode else None
