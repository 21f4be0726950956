# What the scripts beside this share. Sourced, not run.

# The folder of the package.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

# Says which step begins, on standard error, so that standard output is the step's own.
step() { printf '\n==> %s\n' "$*" >&2; }

# For --help: prints the comment at the head of the script that is running, and ends it.
help_if_asked() {
    if [[ "${1-}" != --help && "${1-}" != -h ]]; then return; fi
    awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"
    exit
}

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# Installs packages of the system, where it has apt-get.
install_packages() {
    command -v apt-get >/dev/null || fail "please install: $*"
    local as_root=()
    if [[ "$(id -u)" -ne 0 ]]; then
        command -v sudo >/dev/null || fail "please install: $* (there is no sudo here)"
        as_root=(sudo)
    fi
    step "installing $*"
    ${as_root[@]+"${as_root[@]}"} apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive ${as_root[@]+"${as_root[@]}"} apt-get install -y -qq "$@" >&2
}

has_sqlite_header() {
    [[ "$(uname)" == Darwin || -e /usr/include/sqlite3.h ]] || pkg-config --exists sqlite3 2>/dev/null
}

# Sees to everything that the package needs, and installs what is missing and nothing else.
ensure_requirements() {
    command -v swift >/dev/null || fail "Swift 6.3 or later is needed; see https://www.swift.org/install"
    local missing=()
    command -v git >/dev/null || missing+=(git)
    has_sqlite_header || missing+=(libsqlite3-dev)
    if [[ ${#missing[@]} -gt 0 ]]; then install_packages "${missing[@]}"; fi
}
