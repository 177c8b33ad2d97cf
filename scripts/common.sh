# Functions for the scripts in this folder; sourced, never run.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

say() { printf '\n== %s\n' "$*"; }

note() { printf '   %s\n' "$*"; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Path of the first interpreter of the wanted versions ("3.11" "3.12" ...), on PATH or under pyenv.
find_python() {
  local version path
  for version in "$@"; do
    for path in "$(command -v "python$version" 2>/dev/null)" "$(command -v python3 2>/dev/null)" \
      "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version"*/bin/python; do
      if [[ -n "$path" && -x "$path" ]] && python_is "$path" "$version"; then
        # A pyenv shim answers for the version chosen in a folder; take the interpreter itself.
        "$path" -c 'import sys; print(getattr(sys, "_base_executable", sys.executable))'
        return 0
      fi
    done
  done
  return 1
}

python_is() {
  local got
  got="$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" || return 1
  [[ "$got" == "$2" ]]
}

# Install Debian packages when this is root on a machine with apt-get; otherwise say what to run.
# apt_install WHY PACKAGE...
apt_install() {
  local why="$1"
  shift
  if [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then
    note "$why; installing $*"
    apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "$@" >/dev/null && return 0
  fi
  die "$why. Install it first:  sudo apt-get install $*"
}

ensure_cxx() {
  if [[ -n "${CXX:-}" ]]; then
    command -v "$CXX" >/dev/null || die "CXX names $CXX, which is not on PATH"
  elif ! command -v g++ >/dev/null; then
    apt_install "g++ is missing: it builds the TensorFlow shim and the host kernels" g++
  fi
}

# The HTML pages are looked at in headless Chromium; without it those tests are skipped.
ensure_browser() {
  command -v chromium >/dev/null && command -v chromedriver >/dev/null && return 0
  (apt_install "chromium is missing: HTML reports are tested in it" chromium chromium-driver) ||
    note "the tests that need it are skipped"
}

# Host kernels are tested on aarch64, too: hosts of Ascend cards often are. True where they can be.
ensure_emulator() {
  [[ "$(uname -m)" == x86_64 ]] || return 1
  command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64-static >/dev/null &&
    return 0
  (apt_install "the cross compiler and emulator for aarch64 are missing" \
    g++-aarch64-linux-gnu qemu-user-static)
}

# ensure_venv FOLDER PYTHON REQUIREMENT... : a virtual environment in the checkout. A stamp holds
# the digest of the interpreter and the requirements, so that a second call does nothing.
ensure_venv() {
  local venv="$ROOT/$1" python="$2" version want
  shift 2
  [[ -n "$python" ]] || die "no suitable Python interpreter found"
  version="$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')"
  want="$(printf '%s\n' "$python" "$version" "$@" | sha256sum | cut -d' ' -f1)"
  if [[ -x "$venv/bin/python" && "$(cat "$venv/.stamp" 2>/dev/null)" == "$want" ]]; then
    note "$(basename "$venv"): up to date (Python $version)"
    return 0
  fi
  note "$(basename "$venv"): installing $* (Python $version)"
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    apt_install "Python ${version%.*} cannot make virtual environments" "python${version%.*}-venv"
  fi
  rm -rf "$venv"
  "$python" -m venv "$venv"
  local pip=("$venv/bin/python" -m pip --disable-pip-version-check install -qq)
  "${pip[@]}" --upgrade pip setuptools wheel
  "${pip[@]}" "$@"
  printf '%s\n' "$want" >"$venv/.stamp"
}

# Python headers are needed to build the shim. Debian keeps them apart from the interpreter, but
# TensorFlow's wheels from 2.6 on bring those of their Python along.
# ensure_headers FOLDER : FOLDER is a virtual environment with TensorFlow.
ensure_headers() {
  local python="$ROOT/$1/bin/python" version
  if ! "$python" -c '
import os, sys, sysconfig

paths = sysconfig.get_paths()
bundled = "tensorflow/include/external/local_config_python/python_include"
folders = [paths["include"], os.path.join(paths["purelib"], bundled)]
sys.exit(not any(os.path.exists(os.path.join(folder, "Python.h")) for folder in folders))'; then
    version="$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    apt_install "Python.h of Python $version is missing" "python$version-dev"
  fi
}

# The three supported TensorFlows: what each needs.
tf_requirements() {
  case "$1" in
    tf1) printf '%s\n' tensorflow==1.15.5 'protobuf<3.20' 'numpy<1.19' ;;
    tf2) printf '%s\n' tensorflow-cpu==2.6.5 'protobuf<3.20' numpy==1.19.5 keras==2.6.0 \
      tensorflow-estimator==2.6.0 ;;
    latest) printf '%s\n' tensorflow-cpu ;;
    *) die "unknown TensorFlow $1: allowed are tf1, tf2, latest" ;;
  esac
}

tf_venv() {
  case "$1" in
    tf1) echo .venv-tf1 ;;
    tf2) echo .venv-tf2 ;;
    *) echo .venv ;;
  esac
}

tf_python() {
  case "$1" in
    tf1) find_python 3.7 ;;
    tf2) find_python 3.9 ;;
    *) find_python 3.11 3.12 3.10 3.13 ;;
  esac
}

# setup_tf tf1|tf2|latest : environment with TensorFlow, this package (editable) and its C++ parts.
setup_tf() {
  local which="$1" python venv requirements
  mapfile -t requirements < <(tf_requirements "$which" && test_tools "$which")
  venv="$(tf_venv "$which")"
  python="$(tf_python "$which")" || die "$(missing_python "$which")"
  ensure_cxx
  ensure_venv "$venv" "$python" "${requirements[@]}" pybind11==2.13.6
  [[ "$which" != latest ]] || ensure_keras2 "$venv"
  ensure_headers "$venv"
  ensure_package "$venv"
}

# Keras 2 beside the newest TensorFlow, and deepctr, whose models are written for it; both for tests.
# Their wheels ask for the package "tensorflow" and for old versions of others, which would take the
# place of what is here: they come without.
ensure_keras2() {
  local python="$ROOT/$1/bin/python" minor
  minor="$("$python" -c '
from importlib.metadata import version
print(".".join(version("tensorflow-cpu").split(".")[:2]))')"
  "$python" -c 'from importlib.metadata import version; version("tf_keras"), version("deepctr")' \
    2>/dev/null ||
    "$python" -m pip --disable-pip-version-check install -qq --no-deps "tf_keras==$minor.*" \
      deepctr==0.9.4
}

missing_python() {
  case "$1" in
    tf1) echo "Python 3.7 not found on PATH or under pyenv: TensorFlow 1.15.5 needs it" ;;
    tf2) echo "Python 3.9 not found on PATH or under pyenv: TensorFlow 2.6.5 runs on it" ;;
    *) echo "Python 3.11 not found: sudo apt-get install python3.11 python3.11-venv" ;;
  esac
}

# What tests of random graphs (hypothesis), of special functions (mpmath) and of pages in a browser
# need; they run on the latest TensorFlow only.
test_tools() {
  case "$1" in
    tf1) echo pytest==7.4.4 ;;
    tf2) echo 'pytest<9' ;;
    *) printf '%s\n' 'pytest<9' 'hypothesis>=6.100' 'selenium>=4.20' 'netron>=7' \
      mpmath requests ;;
  esac
}

# This package, editable, and the shim. The shim's own builder knows whether it is up to date.
ensure_package() {
  local venv="$ROOT/$1" want
  want="$(cat "$ROOT/setup.py" "$ROOT/pyproject.toml" | sha256sum | cut -d' ' -f1) $ROOT"
  if [[ "$(cat "$venv/.package" 2>/dev/null)" != "$want" ]]; then
    note "$1: installing tf_autofuse (editable)"
    "$venv/bin/python" -m pip --disable-pip-version-check install -qq \
      --no-build-isolation --editable "$ROOT"
    printf '%s\n' "$want" >"$venv/.package"
  fi
  note "$1: TensorFlow shim, built unless it is up to date"
  local output
  if ! output="$("$venv/bin/python" -m tf_autofuse.build.tf_shim 2>&1)"; then
    printf '%s\n' "$output" >&2
    die "the TensorFlow shim did not build"
  fi
  note "  $(tail -n 1 <<<"$output")"  # what comes before is TensorFlow's start-up talk
}

# "tensorflow-2.x.y, Python 3.x.y" of an environment, read without importing TensorFlow.
tf_version() {
  local venv info
  venv="$ROOT/$(tf_venv "$1")"
  info="$(cd "$venv"/lib/python*/site-packages && echo tensorflow-[0-9]*.dist-info tensorflow_cpu-[0-9]*.dist-info)"
  info="$(tr ' ' '\n' <<<"$info" | grep -v '\*' | head -1)"
  echo "${info%.dist-info}, $("$venv/bin/python" --version)"
}
