#!/usr/bin/env bash
# Keras's own tests with fusing off and on: scripts/keras_suite.sh [PART...]
# A part is a file or folder of keras.src; without any: activations, layers, losses, ops, optimizers
# and more. What passes with fusing off must pass with it on.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

setup_tf latest
cd "$ROOT"
exec "$ROOT/.venv/bin/python" scripts/keras_suite.py "$@"
