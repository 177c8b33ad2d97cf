#!/usr/bin/env bash
# All tests in the environment of the quickstart, then the end-to-end tests on TensorFlow 1.15.5
# and 2.6.5 where this machine has Python 3.7 and 3.9, and those of host kernels on an emulated
# aarch64. Arguments go to the first pytest run. Then every kernel that these tests made runs on the checking twin and on the CPU against the
# interpreter.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

failed=()
skipped=()

# Built kernels are kept for the next run. Bundles are made anew, so that the folder ends up with
# those of this run.
export AUTOFUSE_CACHE_DIR="${AUTOFUSE_CACHE_DIR:-$ROOT/build/test-cache}"
rm -rf "$AUTOFUSE_CACHE_DIR/bundles"

run_pytest() {
  local which="$1"
  shift
  (cd "$ROOT" && "$ROOT/$(tf_venv "$which")/bin/python" -m pytest -q -p no:cacheprovider "$@") ||
    failed+=("$which")
}

# End-to-end tests of every TensorFlow in `older`, and host kernels on aarch64; fails when one does.
test_older() {
  local which files
  # Only the files with such tests: the others may need packages that old Pythons lack.
  mapfile -t files < <(cd "$ROOT" && grep -rl --include='test_*.py' 'pytest.mark.e2e' tests)
  failed=()
  for which in "${older[@]+"${older[@]}"}"; do
    say "End-to-end tests, $(tf_version "$which")"
    run_pytest "$which" -m e2e "${files[@]}"
  done
  if ((emulated)); then
    say "Host kernels on an emulated aarch64"
    PYTHONPATH="$ROOT/tests/emulated" run_pytest latest -p emulated_host \
      tests/codegen/test_host_{beside,doubles,functions,kernels,moments,rough,scalars,stages,streams,vectors}.py
  fi
  ((${#failed[@]} == 0))
}

say "Environment latest"
setup_tf latest
ensure_browser
emulated=1
ensure_emulator || { emulated=0 && skipped+=("host kernels on aarch64: no emulator"); }
older=()
for which in tf2 tf1; do
  if ! tf_python "$which" >/dev/null; then
    skipped+=("$which: $(missing_python "$which")")
    continue
  fi
  say "Environment $which"
  if (setup_tf "$which"); then
    older+=("$which")
  else
    failed+=("$which set-up")
  fi
done

# Beside the tests of the current TensorFlow: no run keeps two cores busy.
older_log="$ROOT/build/test-older.log"
mkdir -p "$ROOT/build"
test_older >"$older_log" 2>&1 &
older_tests=$!
trap 'kill "$older_tests" 2>/dev/null || true' EXIT
say "All tests, $(tf_version latest)"
run_pytest latest tests "$@"
wait "$older_tests" || failed+=("older TensorFlow")
trap - EXIT
cat "$older_log"

say "Kernels of these tests on the checking twin"
(cd "$ROOT" && .venv/bin/python scripts/twin_sweep.py --faults --bundles "$AUTOFUSE_CACHE_DIR") ||
  failed+=("kernels on the twin")

say "Result"
for line in "${skipped[@]+"${skipped[@]}"}"; do note "skipped $line"; done
if ((${#failed[@]})); then
  die "failed: ${failed[*]}"
fi
note "all passed"
