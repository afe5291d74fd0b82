#!/bin/sh
# Installs the gateway from this source tree into a virtual environment of its own.
#   deploy/install.sh TARGET        such as /opt/openbridge
# The image is built by it, and so is what continuous integration runs where there is no Docker.
set -eu
target=$1
source=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT

"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$wheels" "$source"
"$python" -m venv "$target"
wheel=$(echo "$wheels"/llmcore_routes-*.whl)
"$target/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir \
    "$wheel[bridge,redis,postgres,bedrock,vertex]"
"$target/bin/openbridge" --version
