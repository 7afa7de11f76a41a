#!/usr/bin/env python3
"""sbom.py NAME-VERSION [CUDA]: what the released programs hold beside their own sources, as CycloneDX 1.5: Debian's
packages of this machine, and the start files of zig, which links them. CUDA: the version of the runtime in
libmmaudit_cuda.so."""
import json
import re
import subprocess
import sys

# Package (as a pattern of dpkg), licence as SPDX, and how it is in the programs.
PACKAGES = [
    ("libmpfr-dev", "LGPL-3.0-or-later", "linked statically"),
    ("libgmp-dev", "LGPL-3.0-or-later OR GPL-2.0-or-later", "linked statically"),
    ("libzstd-dev", "BSD-3-Clause OR GPL-2.0-only", "linked statically"),
    ("libxxhash-dev", "BSD-2-Clause", "linked statically"),
    ("libfmt-dev", "MIT", "headers"),
    ("nlohmann-json3-dev", "MIT", "headers"),
    ("libcli11-dev", "BSD-3-Clause", "headers"),
    ("libboost1.*-dev", "BSL-1.0", "headers"),
    ("libstdc++-*-dev", "GPL-3.0-or-later WITH GCC-exception-3.1", "linked statically"),
]
ZIG = {"type": "library", "name": "glibc's start files of ziglang", "version": "0.17.1", "purl": "pkg:pypi/ziglang@0.17.1",
       "licenses": [{"expression": "LGPL-2.1-or-later"}], "description": "linked statically"}


def component(package: str, licence: str, how: str) -> dict:
    lines = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version} ${source:Package}\n", package],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    names = [line.split() for line in lines if re.match(r"installed (?!.*-(cross|[a-z0-9]+-cross) )", line)]
    if not names:
        sys.exit(f"sbom.py: found no {package} on this machine, allowed: a package that is installed")
    _, name, version, source = names[-1]
    return {"type": "library", "name": source, "version": version, "purl": f"pkg:deb/debian/{name}@{version}",
            "licenses": [{"expression": licence}], "description": how}


def main() -> None:
    name, _, version = sys.argv[1].rpartition("-")
    cuda = [{"type": "library", "name": "cudart_static of CUDA", "version": version, "description": "linked statically",
             "licenses": [{"license": {"name": "NVIDIA Software License Agreement"}}]} for version in sys.argv[2:]]
    print(json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": name, "name": name, "version": version,
                                   "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": [component(*row) for row in PACKAGES] + [ZIG, *cuda],
    }, indent=2))


main()
