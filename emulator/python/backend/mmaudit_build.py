"""Builds the wheel with nothing but Python, CMake and a C++ compiler (PEP 517).

$MMAUDIT_LIBRARY names a libmmaudit.so that is there already; otherwise CMake builds one from this checkout.
"""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import zipfile
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_ROOT = _PACKAGE.parent.parent


def _version() -> str:
    text = (_ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    found = re.search(r"project\(mmaudit VERSION ([0-9.]+)", text)
    if not found:
        raise RuntimeError(f"{_ROOT / 'CMakeLists.txt'}: found no version, allowed: project(mmaudit VERSION x.y.z")
    return found.group(1)


def _metadata() -> str:
    readme = (_ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    return (
        "Metadata-Version: 2.1\n"
        f"Name: mmaudit\nVersion: {_version()}\n"
        "Summary: Bit-accurate model of tensor-core matrix instructions\n"
        "License: Apache-2.0\nRequires-Python: >=3.9\nRequires-Dist: numpy\n"
        "Description-Content-Type: text/markdown\n\n" + readme
    )


def _tag() -> str:
    # ctypes: any Python 3, but this machine's kind of library.
    return "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def _wheel() -> str:
    return f"Wheel-Version: 1.0\nGenerator: mmaudit_build\nRoot-Is-Purelib: false\nTag: {_tag()}\n"


def _built_library(scratch: Path) -> Path:
    if not (_ROOT / "emulator" / "include").is_dir():
        raise RuntimeError("found no sources, allowed: a whole checkout of mmaudit, or $MMAUDIT_LIBRARY")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    configure = ["cmake", "-S", str(_ROOT), "-B", str(scratch), *generator, "-D", "CMAKE_BUILD_TYPE=Release"]
    configure += ["-D", "MMAUDIT_TOOL=OFF", "-D", "MMAUDIT_TESTS=OFF", "-D", "MMAUDIT_CUDA=OFF"]
    subprocess.run(configure, check=True)
    jobs = str(len(os.sched_getaffinity(0)))
    subprocess.run(["cmake", "--build", str(scratch), "--target", "mmaudit_c", "--parallel", jobs], check=True)
    return scratch / "lib" / "libmmaudit.so"


def _write(path: Path, files: "dict[str, bytes]", info: str) -> None:
    """A wheel is a zip file whose RECORD lists every file with its digest."""
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}\n")
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            wheel.writestr(entry, content)
        entry = zipfile.ZipInfo(f"{info}/RECORD", (2020, 1, 1, 0, 0, 0))
        entry.external_attr = 0o100644 << 16
        wheel.writestr(entry, "".join(record) + f"{info}/RECORD,,\n")


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = f"mmaudit-{_version()}.dist-info"
    folder = Path(metadata_directory) / info
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "METADATA").write_text(_metadata(), encoding="utf-8")
    (folder / "WHEEL").write_text(_wheel(), encoding="utf-8")
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    info = f"mmaudit-{_version()}.dist-info"
    files = {
        f"mmaudit/{source.name}": source.read_bytes()
        for source in sorted((_PACKAGE / "mmaudit").iterdir())
        if source.suffix == ".py" or source.name == "py.typed"
    }
    with tempfile.TemporaryDirectory(prefix="mmaudit-build-") as scratch:
        given = os.environ.get("MMAUDIT_LIBRARY")
        library = Path(given) if given else _built_library(Path(scratch))
        if not library.is_file():
            raise RuntimeError(f"MMAUDIT_LIBRARY: found {library}, allowed: a libmmaudit.so")
        files["mmaudit/libmmaudit.so"] = library.read_bytes()
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/WHEEL"] = _wheel().encode()
    files[f"{info}/entry_points.txt"] = b"[pytest11]\nmmaudit = mmaudit.pytest_plugin\n"
    files[f"{info}/licenses/LICENSE"] = (_ROOT / "LICENSE").read_bytes()
    name = f"mmaudit-{_version()}-{_tag()}.whl"
    _write(Path(wheel_directory) / name, files, info)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise RuntimeError("sdist: the sources are the whole repository; build a wheel from a checkout")
