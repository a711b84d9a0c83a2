#!/bin/sh
# Prints the CPythons of version 3.11 or newer other than PYTHON ($1), one of each minor version: those on PATH and pyenv's.
set -eu

{
    for minor in 11 12 13 14 15; do
        command -v "python3.$minor" || true
    done
    ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python 2>/dev/null || true
} | while read -r python; do
    "$python" - "$1" "$python" <<'PY' 2>/dev/null || true
import subprocess, sys, sysconfig
own = subprocess.run([sys.argv[1], "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True).stdout
usable = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
if sys.version_info >= (3, 11) and usable and str(sys.version_info[:2]) != own.strip():
    print(sys.version_info[1], sys.argv[2])
PY
done | sort -n | awk '!seen[$1]++ { print $2 }'
