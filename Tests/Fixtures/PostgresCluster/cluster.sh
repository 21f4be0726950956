#!/bin/sh
# Runs a PostgreSQL server until the standard input ends. Then removes its cluster, which is empty at first, or is that of
# a standby of another server.
#
#   cluster.sh FOLDER PORT [--template FOLDER] [--standby-of PORT] [--certificates FOLDER] [SETTING…]
#
# With a template, the empty cluster is a copy of it, if it exists. Otherwise initdb makes the cluster, and the folder
# `template` inside of FOLDER gets a copy.
#
# Each setting is a line of postgresql.conf, and replaces one of this script. The server listens on the loopback
# interface and on a Unix socket in the folder. Each client is let in, without a password, also as superuser `postgres`.
# With a folder of certificates (ca.crt, server.crt, server.key), the server has TLS, and lets other users in by TLS and
# password only. The user `certified` needs a certificate of the same authority with this name instead. Reads lines from
# the standard input, and answers each with a line:
#
#   stop            ends the server at once, without a checkpoint, as a crash would
#   interrupt       ends the server by SIGINT: all clients are disconnected, and a checkpoint is written
#   kill            ends the main process of the server by SIGKILL
#   start           starts the server again
#   promote         makes the standby a server that accepts writes
#   configure LINE  adds a line to the configuration, which the server reads soon
set -u
# The server ends with the standard input, not by signals to the group of the tests.
trap '' INT TERM HUP

folder="$1"
port="$2"
shift 2
template=""
primary=""
certificates=""
while :; do
    case "${1:-}" in
    --template) template="$2" ;;
    --standby-of) primary="$2" ;;
    --certificates) certificates="$2" ;;
    *) break ;;
    esac
    shift 2
done
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
if [ -z "$primary" ]; then
    if [ -z "$template" ] || ! as_owner cp -a "$template" "$folder/data" 2>/dev/null; then
        rm -rf "$folder/data"
        server initdb -o "--username=postgres --auth=trust --encoding=UTF8 --locale=C --no-sync" || fail
    fi
    if [ -z "$template" ]; then as_owner cp -a "$folder/data" "$folder/template" || fail; fi
else
    as_owner "$bin/pg_basebackup" -h 127.0.0.1 -p "$primary" -U postgres -D "$folder/data" -R -X stream -c fast \
        --no-sync >>"$folder/pg_ctl" 2>&1 </dev/null || fail
fi
# In the copy of a primary server's configuration, these lines replace the earlier ones.
cat >>"$folder/data/postgresql.conf" <<EOF
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$folder'
fsync = off
full_page_writes = off
shared_buffers = 16MB
max_connections = 80
autovacuum = off
EOF
if [ -n "$certificates" ]; then
    for file in ca.crt server.crt server.key; do
        cp "$certificates/$file" "$folder/data" || fail
        if [ "$(id -u)" -eq 0 ]; then chown postgres "$folder/data/$file"; fi
    done
    chmod 600 "$folder/data/server.key"
    printf '%s\n' "ssl = on" "ssl_ca_file = 'ca.crt'" "password_encryption = 'scram-sha-256'" \
        >>"$folder/data/postgresql.conf"
    printf '%s\n' "local all postgres trust" "host all postgres 127.0.0.1/32 trust" \
        "hostssl all certified 127.0.0.1/32 cert" "hostssl all all 127.0.0.1/32 scram-sha-256" \
        >"$folder/data/pg_hba.conf"
fi
for setting in "$@"; do echo "$setting" >>"$folder/data/postgresql.conf"; done
server start || fail
echo ready

# Ends the main process. The other processes of the server notice this, and end too.
kill_server() {
    main="$(head -n 1 "$folder/data/postmaster.pid")" && kill -KILL "$main" || return 1
    sleep 0.5
    # In a container whose first process does not wait for others, the process number stays in use.
    if grep -q '^State:[[:space:]]*Z' "/proc/$main/status" 2>/dev/null; then rm "$folder/data/postmaster.pid"; fi
}

# A server that was killed may leave processes for a moment.
start_server() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        if server start; then return 0; fi
        sleep 0.5
    done
    return 1
}

while read -r command line; do
    case "$command" in
    stop) server stop -m immediate && echo stopped || echo failed ;;
    interrupt) server stop -m fast && echo stopped || echo failed ;;
    kill) kill_server && echo stopped || echo failed ;;
    start) start_server && echo ready || echo failed ;;
    promote) server promote && echo promoted || echo failed ;;
    configure) echo "$line" >>"$folder/data/postgresql.conf" && server reload && echo configured || echo failed ;;
    esac
done

server stop -m immediate
cd / && rm -rf "$folder"
