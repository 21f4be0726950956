#!/bin/sh
# Runs a PostgreSQL server with an empty cluster until the standard input ends. Then removes the cluster.
#
#   cluster.sh FOLDER PORT [SETTING…]
#
# Each setting is a line of postgresql.conf, and replaces one of this script. The server listens on the loopback
# interface and on a Unix socket in the folder. Each client is let in as superuser `postgres`. Reads lines from the
# standard input, and answers each with a line:
#
#   stop    ends the server at once, without a checkpoint, as a crash would
#   start   starts the server again
set -u
# The server ends with the standard input, not by signals to the group of the tests.
trap '' INT TERM HUP

folder="$1"
port="$2"
shift 2
cd "$folder" || exit 1

bin=""
for candidate in "$(pg_config --bindir 2>/dev/null)" /usr/lib/postgresql/*/bin; do
    if [ -x "$candidate/initdb" ] && [ -x "$candidate/pg_ctl" ]; then bin="$candidate"; fi
done
if [ -z "$bin" ]; then
    echo "PostgreSQL is not installed; Scripts/test installs it."
    exit 1
fi

# PostgreSQL refuses to run as the superuser of the system.
as_owner() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=postgres --regid=postgres --init-groups "$@"
    else
        "$@"
    fi
}

server() { as_owner "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -s -w "$@" >>"$folder/pg_ctl" 2>&1 </dev/null; }

fail() {
    cat "$folder/pg_ctl" "$folder/log" 2>/dev/null
    exit 1
}

if [ "$(id -u)" -eq 0 ]; then chown postgres "$folder"; fi
as_owner touch "$folder/pg_ctl"
server initdb -o "--username=postgres --auth=trust --encoding=UTF8 --locale=C --no-sync" || fail
cat >>"$folder/data/postgresql.conf" <<EOF
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$folder'
fsync = off
full_page_writes = off
shared_buffers = 16MB
max_connections = 60
autovacuum = off
EOF
for setting in "$@"; do echo "$setting" >>"$folder/data/postgresql.conf"; done
server start || fail
echo ready

while read -r command; do
    case "$command" in
    stop) server stop -m immediate && echo stopped || echo failed ;;
    start) server start && echo ready || echo failed ;;
    esac
done

server stop -m immediate
cd / && rm -rf "$folder"
