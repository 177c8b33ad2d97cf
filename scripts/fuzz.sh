#!/usr/bin/env bash
# Compare N random graphs, fused and not, to the bit: scripts/fuzz.sh [N], 1000 unless given; and N
# more with limits so small that forms for large tensors begin early. Then hold every kernel made for
# the first to the interpreter, on the checking twin and on the CPU.
# A graph that fails is made as small as possible and printed as a few lines of Python.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

graphs="${1:-1000}"
[[ "$graphs" =~ ^[1-9][0-9]*$ ]] || die "usage: scripts/fuzz.sh [number of graphs]"
setup_tf latest
cd "$ROOT"
export AUTOFUSE_CACHE_DIR="$ROOT/build/fuzz-cache"
rm -rf "$AUTOFUSE_CACHE_DIR/bundles"
AUTOFUSE_FUZZ_GRAPHS="$graphs" TF_CPP_MIN_LOG_LEVEL=3 "$ROOT/.venv/bin/python" -m pytest -q \
  -p no:cacheprovider tests/fuzz
say "Kernels on the checking twin and on the CPU"
"$ROOT/.venv/bin/python" scripts/twin_sweep.py --bundles "$AUTOFUSE_CACHE_DIR" \
  >build/fuzz_kernels.log || die "wrong kernels: see build/fuzz_kernels.log"
