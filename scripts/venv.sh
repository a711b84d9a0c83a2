#!/bin/sh
# usage: venv.sh DIR PYTHON EXTRAS [PACKAGE...]
# Makes or updates the virtual environment DIR with tack-core, its EXTRAS and the named packages (`-e FOLDER` for one of this
# repository), and does nothing when that is already so. System packages are installed with apt when they are missing, root runs
# this and apt is there.
set -eu

dir=$1 python=$2 extras=$3
shift 3
root=$(cd "$(dirname "$0")/.." && pwd)

fail() {
    echo "$*" >&2
    exit 1
}

command -v "$python" >/dev/null 2>&1 || fail "'$python' was not found: install Python 3.11 or newer, or pass PYTHON=/path/to/python"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "Tack needs Python 3.11 or newer, '$python' is $("$python" -V 2>&1): pass PYTHON=/path/to/python"

version=$("$python" -c 'import sys; print(*sys.version_info[:3], sys.implementation.name)')
wanted="$version | $extras | $* | $(cat "$root"/packages/*/pyproject.toml | cksum)"
stamp=$dir/.tack-$(echo "$extras $*" | tr -c 'a-z0-9\n' -)
site=$(echo "$dir"/lib/python3.*/site-packages)
# The stamp must be younger than the last thing installed or removed there, by whatever tool.
[ "$(cat "$stamp" 2>/dev/null || true)" = "$wanted" ] && [ "$stamp" -nt "$site" ] && exit 0

if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y python3-venv
    else
        fail "'$python' lacks the venv module: install it (on Debian and Ubuntu the package python3-venv), then run this again"
    fi
fi

# An environment of another Python than the one asked for is made anew.
if [ -x "$dir/bin/python" ]; then
    [ "$("$dir/bin/python" -c 'import sys; print(*sys.version_info[:3], sys.implementation.name)')" = "$version" ] || rm -rf "$dir"
fi
[ -x "$dir/bin/python" ] || "$python" -m venv "$dir"
"$dir/bin/python" -m pip --version >/dev/null 2>&1 || "$dir/bin/python" -m ensurepip >/dev/null
echo "installing tack-core[$extras] $* into $dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check -e "$root/packages/tack-core[$extras]" "$@"
echo "$wanted" >"$stamp"
