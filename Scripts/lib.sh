# What the scripts beside this share. Sourced, not run.
# shellcheck shell=bash

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

# Forgets the plans of the last builds in the folders that the package shares with others: that of the tests, and that of
# the benchmarks. SwiftPM would take them for plans of another package that is built in the same folder.
forget_plan() { rm -f "$root/.build/debug.yaml" "$root/Benchmarks/.build/release.yaml"; }

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
    # Debian starts the servers of new packages as services, unless this program exists and refuses. The tests start
    # their servers themselves.
    local policy=/usr/sbin/policy-rc.d
    (
        if [[ ! -e "$policy" ]]; then
            trap '${as_root[@]+"${as_root[@]}"} rm -f "$policy"' EXIT
            printf '#!/bin/sh\nexit 101\n' | ${as_root[@]+"${as_root[@]}"} install -m 755 /dev/stdin "$policy"
        fi
        DEBIAN_FRONTEND=noninteractive ${as_root[@]+"${as_root[@]}"} apt-get install -y -qq "$@" >&2
    )
}

has_sqlite_header() {
    [[ "$(uname)" == Darwin || -e /usr/include/sqlite3.h ]] || pkg-config --exists sqlite3 2>/dev/null
}

has_libpq_header() {
    [[ -e /usr/include/postgresql/libpq-fe.h || -e /usr/include/libpq-fe.h ]] || pkg-config --exists libpq 2>/dev/null \
        || [[ "$(uname)" == Darwin && -e "$(brew --prefix libpq 2>/dev/null)/include/libpq-fe.h" ]]
}

# Sees to everything that the package needs, and installs what is missing and nothing else.
ensure_requirements() {
    command -v swift >/dev/null || fail "Swift 6.3 or later is needed; see https://www.swift.org/install"
    local missing=()
    command -v git >/dev/null || missing+=(git)
    has_sqlite_header || missing+=(libsqlite3-dev)
    has_libpq_header || missing+=(libpq-dev)
    if [[ ${#missing[@]} -gt 0 ]]; then install_packages "${missing[@]}"; fi
}

# Makes an environment of Python with the packages of a file, once, and again when the file changes.
#
#   ensure_environment FOLDER REQUIREMENTS
ensure_environment() {
    # The folder is emptied.
    local environment="${1:?a folder}" requirements="${2:?a file}"
    command -v python3 >/dev/null || fail "Python 3.10 or later is needed"
    if cmp -s "$requirements" "$environment/installed.txt" && "$environment/bin/python" -c pass 2>/dev/null; then return; fi
    step "installing $(tr '\n' ' ' <"$requirements")"
    python3 -m venv --clear "$environment" >&2 || fail "no virtual environment could be made: is python3-venv missing?"
    "$environment/bin/python" -m pip install --quiet --no-input --disable-pip-version-check --requirement "$requirements" >&2 \
        || fail "the packages of ${requirements#"$root/"} could not be installed: is there a network?"
    cp "$requirements" "$environment/installed.txt"
}

# Sees to the program that sends requests to press.
ensure_wrk() {
    if ! command -v wrk >/dev/null; then install_packages wrk; fi
}

# Prints a port of the loopback interface on which no program listens.
free_port() {
    local port attempt
    for ((attempt = 0; attempt < 100; attempt++)); do
        port=$((20000 + RANDOM % 12000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return
        fi
    done
    fail "no port of the loopback interface is free"
}

# Runs a command again and again until it succeeds, at most for a number of seconds.
#
#   eventually SECONDS COMMAND...
eventually() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        if [[ $SECONDS -ge $end ]]; then return 1; fi
        sleep 0.1
    done
}

has_postgres() {
    [[ "$(uname)" != Linux || -x "$(pg_config --bindir 2>/dev/null)/initdb" ]] \
        || compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null
}

# Sees to the server of PostgreSQL.
ensure_postgres() {
    if ! has_postgres; then install_packages postgresql; fi
}

# Sees to the proxy in front of several nodes.
ensure_proxy() {
    if ! PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v haproxy >/dev/null; then install_packages haproxy; fi
}

# Sees to the servers in Python, in a separate environment beside the build.
ensure_python_servers() {
    ensure_environment "$root/.build/servers-venv" "$root/Tests/StrataHTTPTests/requirements.txt"
}

# Sees to the servers that the tests of remotes and of homes talk to.
ensure_servers() {
    local missing=()
    command -v curl >/dev/null || missing+=(curl)
    command -v openssl >/dev/null || missing+=(openssl)
    if ! PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v lighttpd >/dev/null; then missing+=(lighttpd); fi
    if [[ "$(uname)" == Linux && ! -e /usr/lib/lighttpd/mod_webdav.so ]]; then missing+=(lighttpd-mod-webdav); fi
    # The server alone: the package apache2 would start it as a service.
    if [[ "$(uname)" == Linux && ! -e /usr/lib/apache2/modules/mod_dav.so && ! -e /usr/lib64/httpd/modules/mod_dav.so ]]; then
        missing+=(apache2-bin)
    fi
    has_postgres || missing+=(postgresql)
    if [[ "$(uname)" == Linux ]] && ! PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v pgbouncer >/dev/null; then
        missing+=(pgbouncer)
    fi
    if [[ ${#missing[@]} -gt 0 ]]; then install_packages "${missing[@]}"; fi
    ensure_python_servers
}

# Sees to the browser that the console is tested with, and to its client in Python.
ensure_browser() {
    local missing=() browser=""
    for browser in chromium chromium-browser google-chrome ""; do
        if [[ -n "$browser" ]] && command -v "$browser" >/dev/null; then break; fi
    done
    if [[ -z "$browser" ]]; then missing+=(chromium); fi
    command -v chromedriver >/dev/null || missing+=(chromium-driver)
    if [[ ${#missing[@]} -gt 0 ]]; then
        install_packages "${missing[@]}" \
            || fail "Chromium and its driver could not be installed, and the console is not tested without them"
    fi
    ensure_environment "$root/.build/browser-venv" "$root/Tests/Browser/requirements.txt"
}
