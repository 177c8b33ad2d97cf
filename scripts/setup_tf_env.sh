#!/usr/bin/env bash
# One of the three TensorFlow environments: scripts/setup_tf_env.sh tf1|tf2|latest
#   tf1     TensorFlow 1.15.5, Python 3.7   .venv-tf1
#   tf2     TensorFlow 2.6.5,  Python 3.9   .venv-tf2
#   latest  current 2.x,       Python 3.11  .venv
# Each holds TensorFlow, this package (editable), its C++ parts built for that TensorFlow, and pytest.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in
  tf1 | tf2 | latest) ;;
  *) die "usage: scripts/setup_tf_env.sh tf1|tf2|latest" ;;
esac

say "Environment $1"
setup_tf "$1"
note "use it with:  source scripts/activate_$1.sh"
