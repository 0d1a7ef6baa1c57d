"""Everything a release needs but the upload: `make release`, see docs/releasing.md.

Builds wheel and source archive, checks their descriptions and that no file of the package is missing from either, and
installs the wheel into a new environment outside the checkout, where the command, a tiny demo, a smoke study and a
report have to run. The first step that fails ends it.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rehearse", action="store_true", help="do not ask for a dated changelog and a clean checkout")
    options = parser.parse_args()
    version = project_version()
    faults = [] if options.rehearse else unready(version)
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        sys.exit(1)
    archives = build()
    for archive in archives:
        missing = package_files() - files_in(archive)
        if missing:
            sys.exit(f"{archive.name} lacks {', '.join(sorted(missing))}; see package-data in pyproject.toml")
        print(f"{archive.relative_to(ROOT)}  {archive.stat().st_size / 1e6:.1f} MB  no file missing")
    wheel = next(archive for archive in archives if archive.suffix == ".whl")
    with tempfile.TemporaryDirectory() as folder:
        try_wheel(wheel, Path(folder), version)
    print(f"ready: git tag v{version}; git push origin v{version}; twine upload dist/*")


def project_version() -> str:
    """The one place that says it is pyproject.toml."""
    match = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert match is not None
    return match[1]


def unready(version: str) -> list[str]:
    """What is to be done before this version can be released."""
    faults = []
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), re.M):
        faults.append(f"CHANGELOG.md has no heading '## {version} (YYYY-MM-DD)'")
    if _output(["git", "status", "--porcelain", "--untracked-files=no"]):
        faults.append("the checkout has changes that are not committed")
    if _output(["git", "tag", "--list", f"v{version}"]):
        faults.append(f"v{version} was released already: raise the version in pyproject.toml")
    return faults


def package_files() -> set[str]:
    """All files of the package, below src."""
    return {
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "unbraid").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def files_in(archive: Path) -> set[str]:
    """The files of the package in a wheel or a source archive, below src."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return set(wheel.namelist())
    with tarfile.open(archive) as source:
        return {name.partition("/src/")[2] for name in source.getnames()}


def build() -> list[Path]:
    """Wheel and source archive in dist, from an empty folder, with descriptions that PyPI can show."""
    dist = ROOT / "dist"
    for folder in (dist, ROOT / "build" / "lib"):  # setuptools would put files of an earlier build into the wheel
        shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "build", "--outdir", str(dist), str(ROOT)])
    archives = sorted(dist.iterdir())
    _run([sys.executable, "-m", "twine", "check", "--strict", *map(str, archives)])
    return archives


def try_wheel(wheel: Path, folder: Path, version: str) -> None:
    """Install a wheel where nothing of the checkout can be seen, and use it."""
    _run([sys.executable, "-m", "venv", "env"], folder)
    python, unbraid = folder / "env" / "bin" / "python", str(folder / "env" / "bin" / "unbraid")
    install = ["install", "--quiet", "--constraint", str(ROOT / "constraints.txt"), str(wheel)]
    _run([str(python), "-m", "pip", *install], folder)
    if _run([unbraid, "--version"], folder).strip() != f"unbraid {version}":
        sys.exit(f"the installed command does not say that it is {version}")
    _run([unbraid, "demo", "--steps", "20", "--no-open"], folder)
    _run([unbraid, "study", "run", "assumptions", "--jobs", "0-3", "--out", "study"], folder)
    _run([unbraid, "report", "study", "--out", "report"], folder)
    for page in ("demo/explorer.html", "demo/report/report.html", "report/report.html"):
        if not (folder / page).is_file():
            sys.exit(f"the installed command did not write {page}")


def _run(command: Sequence[str], folder: Path = ROOT) -> str:
    """Run a command and print how long it took; what it printed."""
    begun = time.monotonic()
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    words = " ".join(Path(word).name if "/" in word else word for word in command)
    if done.returncode:
        sys.exit(f"{words} failed:\n{done.stdout}")
    print(f"{words}  {time.monotonic() - begun:.0f} s", flush=True)
    return done.stdout


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
