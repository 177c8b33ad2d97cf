#!/usr/bin/env bash
# From a fresh checkout to fused examples: makes .venv, installs TensorFlow and this package with
# its C++ parts, runs the examples fused, and checks what was fused and that the numbers hold.
# Needs Python 3.11 and g++. A second run reuses everything.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

say "Environment"
setup_tf latest

say "Examples with AUTOFUSE_FLAGS=--enable_autofuse=true"
status=0
"$ROOT/.venv/bin/python" "$ROOT/scripts/run_examples.py" "$@" || status=$?

if ((status == 0)); then
  say "All examples fused what they should and their numbers equal TensorFlow's."
  note "Your own script:  source scripts/activate_latest.sh"
  note "                  AUTOFUSE_FLAGS=--enable_autofuse=true tf-autofuse run your_script.py"
else
  say "Something is wrong; see PROBLEM above."
fi
exit "$status"
