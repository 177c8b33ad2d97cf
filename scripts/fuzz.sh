#!/usr/bin/env bash
# Compare N random graphs, fused and not, to the bit: scripts/fuzz.sh [N], 1000 unless given.
# A graph that fails is made as small as possible and printed as a few lines of Python.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

graphs="${1:-1000}"
[[ "$graphs" =~ ^[1-9][0-9]*$ ]] || die "usage: scripts/fuzz.sh [number of graphs]"
setup_tf latest
cd "$ROOT"
AUTOFUSE_FUZZ_GRAPHS="$graphs" TF_CPP_MIN_LOG_LEVEL=3 exec "$ROOT/.venv/bin/python" -m pytest -q \
  -p no:cacheprovider tests/fuzz
