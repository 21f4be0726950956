#!/bin/sh
# Runs PgBouncer in front of a PostgreSQL server of this machine until the standard input ends.
#
#   pooler.sh FOLDER PORT SERVER_PORT MODE [SETTING…]
#
# Each setting is a line of pgbouncer.ini, and replaces one of this script. The pooler listens on the loopback interface.
# Each client is let in, without a password, as superuser `postgres` of the server. Reads lines from the standard input,
# and answers each with a line:
#
#   kill   ends the pooler by SIGKILL
#   start  starts the pooler again
set -u
# The pooler ends with the standard input, not by signals to the group of the tests.
trap '' INT TERM HUP

folder="$1"
port="$2"
server="$3"
mode="$4"
shift 4
cd "$folder" || exit 1

program="$(PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v pgbouncer)"
if [ -z "$program" ]; then
    echo "PgBouncer is not installed; Scripts/test installs it."
    exit 1
fi

# A pool has more connections than the nodes of a test need. After a failed attempt, the pooler tries again soon. It
# gives unused connections back soon, since several pools share one server.
cat >pgbouncer.ini <<EOF
[databases]
postgres = host=127.0.0.1 port=$server user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = any
pool_mode = $mode
default_pool_size = 30
server_login_retry = 1
server_idle_timeout = 5
EOF
for setting in "$@"; do echo "$setting" >>pgbouncer.ini; done
# PgBouncer refuses to run as the superuser of the system.
if [ "$(id -u)" -eq 0 ]; then chown -R postgres .; fi

run_pooler() {
    if [ "$(id -u)" -eq 0 ]; then
        exec setpriv --reuid=postgres --regid=postgres --init-groups "$program" pgbouncer.ini
    fi
    exec "$program" pgbouncer.ini
}

start_pooler() {
    # Emptied here: the loop could otherwise find the message of the previous start.
    : >log
    run_pooler >>log 2>&1 </dev/null &
    pooler=$!
    for _ in $(seq 100); do
        if grep -q "process up" log; then return 0; fi
        kill -0 "$pooler" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

kill_pooler() {
    kill -KILL "$pooler" || return 1
    wait "$pooler" 2>/dev/null
    return 0
}

if ! start_pooler; then
    cat log
    kill_pooler 2>/dev/null
    cd / && rm -rf "$folder"
    exit 1
fi
echo ready
while read -r command; do
    case "$command" in
    kill) kill_pooler && echo stopped || echo failed ;;
    start) start_pooler && echo ready || echo failed ;;
    esac
done

kill_pooler
cd / && rm -rf "$folder"
