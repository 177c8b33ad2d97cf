#!/usr/bin/env bash
# All tests in the environment of the quickstart, beside them the end-to-end tests on TensorFlow
# 1.15.5 and 2.6.5 where this machine has Python 3.7 and 3.9, and those of host kernels on an
# emulated aarch64. Arguments go to pytest where it runs with the latest TensorFlow. Then every
# kernel that these tests made runs on the checking twin and on the CPU against the interpreter.
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
  # 5: no test was chosen.
  "$ROOT/$(tf_venv "$which")/bin/python" -m pytest -q -p no:cacheprovider "$@" || (($? == 5))
}

# What has a part of its own; all other tests are one more.
ROOMS=(tests/e2e tests/codegen tests/sanitize tests/robust)

other_rooms() {
  printf '%s\n' tests/*/test_*.py tests/test_*.py | sed -E 's,(tests/[^/]+)/.*,\1,' | sort -u |
    grep -vxF -f <(printf '%s\n' "${ROOMS[@]}")
}

# run_part PART ARGUMENT... : the arguments are for pytest on the latest TensorFlow.
run_part() {
  local part="$1" files
  shift
  case "$part" in
    tf1 | tf2)
      # Only the files with such tests: the others may need packages that old Pythons lack.
      mapfile -t files < <(grep -rl --include='test_*.py' 'pytest.mark.e2e' tests)
      run_pytest "$part" -m e2e "${files[@]}"
      ;;
    aarch64)
      PYTHONPATH="$ROOT/tests/emulated" run_pytest latest -p emulated_host \
        tests/codegen/test_host_{beside,doubles,functions,kernels,loose,moments,rough,scalars,signs,stages,streams,vectors}.py
      ;;
    others)
      mapfile -t files < <(other_rooms)
      run_pytest latest "${files[@]}" "$@"
      ;;
    *) run_pytest latest "$part" "$@" ;;
  esac
}

# All parts, two at a time, for none keeps two cores busy. Shows what each wrote when it has ended.
run_parts() {
  local part running=0 logs="$ROOT/build/test-logs"
  rm -rf "$logs"
  mkdir -p "$logs"
  for part in "${parts[@]}"; do
    ((running < 2)) || { wait -n || true; running=$((running - 1)); }
    (
      log="$logs/${part//\//-}"
      run_part "$part" "$@" >"$log.log" 2>&1 || : >"$log.failed"
      say "$part: $SECONDS s since the start"
      cat "$log.log"
    ) &
    running=$((running + 1))
  done
  wait
  for part in "${parts[@]}"; do
    [[ ! -e "$logs/${part//\//-}.failed" ]] || failed+=("$part")
  done
}

say "Environment latest"
setup_tf latest
ensure_browser
# The longest first; older TensorFlows find most kernels built.
parts=(tests/e2e others)
for which in tf2 tf1; do
  if ! tf_python "$which" >/dev/null; then
    skipped+=("$which: $(missing_python "$which")")
    continue
  fi
  say "Environment $which"
  if (setup_tf "$which"); then
    parts+=("$which")
  else
    failed+=("$which set-up")
  fi
done
if ensure_emulator; then
  parts+=(aarch64)
else
  skipped+=("host kernels on aarch64: no emulator")
fi
parts+=("${ROOMS[@]:1}")

say "Tests, two parts at a time"
cd "$ROOT"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
run_parts "$@"
trap - EXIT

say "Kernels of these tests on the checking twin"
(cd "$ROOT" && .venv/bin/python scripts/twin_sweep.py --faults --bundles "$AUTOFUSE_CACHE_DIR") ||
  failed+=("kernels on the twin")

say "Result"
for line in "${skipped[@]+"${skipped[@]}"}"; do note "skipped $line"; done
if ((${#failed[@]})); then
  die "failed: ${failed[*]}"
fi
note "all passed"
