# Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
"""A bundle of programs with all that they load, for a machine without packages or compilers."""

import re
import shutil
import subprocess
from pathlib import Path

from .programs import LOADER, Place

_NEEDED = re.compile(r"=> (/\S+)|^\s*(/\S+)", re.MULTILINE)


def _loaded(path, libdir):
    """What the loader would load for it; nothing for a static program."""
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LD_LIBRARY_PATH": str(libdir)}
    done = subprocess.run(["ldd", str(path)], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return []
    return [Path(a or b) for a, b in _NEEDED.findall(done.stdout)]


def _names(folder):
    return {path.name for path in folder.iterdir()}


def _copy_libraries(found, lib):
    for path in found:
        name = LOADER if path.name.startswith("ld-linux") else path.name
        shutil.copy(path, lib / name)


def make(source, build, target):
    """Folder `target`: run, runner, bin, lib (the system's), libdir (ours)."""
    place = Place(build)
    lib, programs, ours = target / "lib", target / "bin", target / "libdir"
    for folder in (lib, programs, ours):
        folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(place.bin.iterdir()):
        if not path.is_file() or not re.fullmatch(r"(col|loop)_\w+|calibrate", path.name):
            continue
        shutil.copy(path, programs / path.name)
        _copy_libraries(_loaded(path, ""), lib)
    for path in sorted(place.libdir.glob("libevent*.so.[0-9]")):
        shutil.copy(path, ours / path.name)
        system = [p for p in _loaded(path, place.libdir) if p.name not in _names(place.libdir)]
        _copy_libraries(system, lib)
    shutil.copy(source / "run", target / "run")
    shutil.copytree(
        source / "runner",
        target / "runner",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
