#!/usr/bin/env bash
# Makes the machine ready: `scripts/setup.sh run` to train and play, `scripts/setup.sh test` to test as well.
# Run again, it does nothing that is done already. PYTHON picks the interpreter, VENV the environment's folder.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:-run}
python=${PYTHON:-python3}
venv=${VENV:-.venv}
stamp=$venv/.requirements-stamp
missing=()
packages=()

say() { printf '== %s\n' "$*" >&2; }
lack() { missing+=("$1"); packages+=("${@:2}"); }  # what for, then the Debian packages that bring it
has_library() { ldconfig -p 2>/dev/null | grep -qF "$1" || [ -e "/usr/lib/$(uname -m)-linux-gnu/$1" ]; }
whole_venv() { [ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1; }
good_python() { "$python" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; }

check_system() {
    if ! whole_venv; then
        if ! command -v "$python" >/dev/null; then
            lack "Python 3.11 or newer" python3 python3-venv
        elif good_python && ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            lack "Python's venv module" "python3-venv"
        fi
    fi
    command -v tesseract >/dev/null || lack "Tesseract, which reads the HUD" tesseract-ocr
    if [ "$(uname -s)" = Linux ]; then
        has_library libGL.so.1 || lack "libGL, which OpenCV loads" libgl1
        has_library libglib-2.0.so.0 || lack "GLib, which OpenCV loads" libglib2.0-0
        if [ "$purpose" = test ] && [ -z "${DISPLAY:-}" ]; then
            command -v Xvfb >/dev/null || lack "Xvfb, the tests' display" xvfb
            command -v xdotool >/dev/null || lack "xdotool, which clicks in the tests' windows" xdotool
        fi
        if [ "$purpose" = test ]; then
            command -v adb >/dev/null || lack "adb, which the tests connect to a stand-in phone" adb
        fi
    fi
}

install_system() {
    check_system
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing with apt: ${packages[*]}"
        local log
        log=$(mktemp)
        if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends "${packages[@]}"; } >"$log" 2>&1; then
            tail -n 20 "$log" >&2
            say "apt could not install: ${packages[*]}; see the lines above"
            exit 1
        fi
        rm -f "$log"
        missing=() packages=()
        check_system
        [ ${#missing[@]} -gt 0 ] || return 0
    fi
    for i in "${!missing[@]}"; do
        say "missing: ${missing[$i]}"
    done
    if command -v apt-get >/dev/null; then
        say "install them with: sudo apt-get install ${packages[*]}"
    else
        say "install them with this system's package manager (Debian's names: ${packages[*]})"
    fi
    exit 1
}

make_venv() {
    if ! whole_venv; then
        if ! good_python; then
            say "expected Python 3.11 or newer, found $("$python" --version 2>&1); use PYTHON=/path/to/python3.11"
            exit 1
        fi
        say "making $venv with $("$python" --version)"
        local clear=
        [ ! -e "$venv/pyvenv.cfg" ] || clear=--clear  # what an interrupted start left; never another folder
        "$python" -m venv ${clear:+"$clear"} "$venv"
    fi
    local wanted
    wanted=$(cat requirements.txt requirements-dev.txt | cksum; "$venv/bin/python" --version)
    [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || return 0
    say "installing Python packages into $venv (several GB the first time, a few minutes)"
    "$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off -r requirements-dev.txt \
        | { grep --line-buffered -E '^ *(Downloading .*\((.*[0-9]{2}\.[0-9] MB|.*GB)\)|Installing)' || true; } \
        | cut -c1-100 >&2  # the large ones alone: enough to see that it goes on
    printf '%s\n' "$wanted" >"$stamp"
    say "environment ready"
}

install_system
make_venv
