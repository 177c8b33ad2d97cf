#!/usr/bin/env bash
# Keras's own tests with fusing on, and what fails also with it off: scripts/keras_suite.sh [PART...]
# A part is a file or folder of keras.src; without any: activations, layers, losses, ops, optimizers
# and more. What passes with fusing off must pass with it on. --help tells the options; a run that
# was broken off goes on where it was. The wheel of tf_keras carries no tests.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# What Keras's tests import beside TensorFlow; in a folder of their own, so that nothing else sees
# them. Without torch: the tests of its data loaders are reported as not imported.
packages="$ROOT/build/keras_packages"
wanted=(scipy jax jaxlib opt_einsum grain array-record etils cloudpickle importlib_resources zipp
  fsspec portpicker psutil)

setup_tf latest
cd "$ROOT"
if [[ "$(cat "$packages/.stamp" 2>/dev/null)" != "${wanted[*]}" ]]; then
  say "Packages of Keras's tests: ${wanted[*]}"
  rm -rf "$packages"
  "$ROOT/.venv/bin/python" -m pip --disable-pip-version-check install -qq --no-deps \
    --target "$packages" "${wanted[@]}"
  printf '%s\n' "${wanted[*]}" >"$packages/.stamp"
fi
PYTHONPATH="$packages" exec "$ROOT/.venv/bin/python" scripts/keras_suite.py "$@"
