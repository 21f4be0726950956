# The part of the tour for --fleet. Sourced, not run.
#
# The variables are those of press.sh.
# shellcheck shell=bash disable=SC2034,SC2154

# The processes of the nodes, and their addresses.
nodes=("" "" "")
addresses=("" "" "")
postgres=""
postgres_folder=""

# Starts PostgreSQL with an empty cluster, as the tests do, and waits until it answers. It ends when file 9 of this
# script is closed.
start_postgres() {
    ensure_postgres
    local port
    port="$(free_port)"
    # A folder that the owner of the cluster can reach. The script of the cluster removes it.
    postgres_folder="$(mktemp -d)"
    mkfifo "$place/postgres.in"
    "$root/Tests/Fixtures/PostgresCluster/cluster.sh" "$postgres_folder" "$port" <"$place/postgres.in" \
        >"$place/postgres.out" 2>&1 &
    postgres=$!
    exec 9>"$place/postgres.in"
    eventually 60 grep -q "^ready$" "$place/postgres.out" \
        || fail "PostgreSQL has not started: $(cat "$place/postgres.out")"
    export PRESS_HOME_URL="postgresql://postgres@127.0.0.1:$port/postgres"
}

has_ended() { ! kill -0 "$1" 2>/dev/null; }

# Ends PostgreSQL. Called when the script ends, however it ends.
stop_postgres() {
    if [[ -z "$postgres" ]]; then return; fi
    exec 9>&-
    if ! eventually 30 has_ended "$postgres"; then
        kill -KILL "$postgres" "$(head -n 1 "$postgres_folder/data/postmaster.pid" 2>/dev/null)" 2>/dev/null || true
    fi
    rm -rf "$postgres_folder"
}

# Starts a node with a separate folder, and waits until it listens. A node that is started again gets its former port.
start_node() {
    local port="${addresses[$1]##*:}"
    start_press "$place/node$1" "${port:-$(free_port)}" "${remote_settings[@]}"
    nodes[$1]="$press"
    addresses[$1]="$address"
    press=""
}

# Starts a proxy that sends each request to one of the nodes that are ready. Sets proxy, its process, and front, its
# address.
start_proxy() {
    ensure_proxy
    local port node
    port="$(free_port)"
    {
        cat <<END
defaults
    mode http
    timeout connect 1s
    timeout client 60s
    timeout server 60s
    timeout check 2s
    # A request that has reached no node goes to another one. All others are left to the client, which knows whether it
    # may send them twice.
    retries 2
    retry-on conn-failure
    option redispatch 1
frontend press
    bind 127.0.0.1:$port
    http-request deny if { path_beg /console }
    default_backend nodes
backend nodes
    balance roundrobin
    option httpchk
    http-check send meth GET uri /health/ready ver HTTP/1.1 hdr Host press
    default-server check inter 250ms fall 2 rise 1
END
        for node in 0 1 2; do echo "    server node$node ${addresses[$node]#http://}"; done
    } >"$place/haproxy.cfg"
    PATH="$PATH:/usr/sbin:/usr/local/sbin" haproxy -db -q -f "$place/haproxy.cfg" >"$place/haproxy.log" 2>&1 9>&- &
    proxy=$!
    front="http://127.0.0.1:$port"
    eventually 30 curl -fsS --max-time 5 -o /dev/null "$front/articles?size=1" 2>/dev/null \
        || fail "the proxy does not answer: $(cat "$place/haproxy.log")"
}

# One client: adds articles through the proxy. Each request has a key, and is sent again until a node acknowledges it.
# Every tenth article gets a picture.
#
#   write_articles WRITER COUNT AUTHOR
write_articles() {
    local number attempt answer id token file headers="$place/headers$1"
    for ((number = 1; number <= $2; number++)); do
        id=""
        for ((attempt = 0; attempt < 300; attempt++)); do
            answer="$(curl -sS --max-time 20 -D "$headers" -H "Content-Type: application/json" \
                -H "Idempotency-Key: $1-$number" -w '\n%{http_code}' \
                -d "{\"title\": \"News $1 $number\", \"body\": \"Text\", \"author\": \"$3\", \"isPublished\": true}" \
                "$front/articles" 2>/dev/null)" || true
            case "${answer##*$'\n'}" in
            201)
                id="$(sed -n 's/.*"id":"\([^"]*\)".*/\1/p' <<<"$answer")"
                break
                ;;
            000 | 502 | 503 | 504) echo "${answer##*$'\n'}" >>"$place/repeated/$1" ;;
            *) fail "an article was refused: $answer" ;;
            esac
            sleep 0.1
        done
        [[ -n "$id" ]] || fail "an article was not acknowledged"
        echo "$id" >>"$place/acknowledged/$1"
        if ((number % 10 > 0)); then continue; fi
        # The next node may not have the article yet. It waits for the commit of this token.
        token="$(tr -d '\r' <"$headers" | sed -n 's/^[Hh]istory-[Tt]oken: *//p')"
        file="$place/sent/$1-$number.png"
        png >"$file"
        send_picture "$front" "$id" "$file" "$place/pictures/$1" "History-Token: $token"
    done
}

# Whether a node answers each request for an acknowledged article with 200.
#
#   has_all_articles ADDRESS
has_all_articles() {
    local id
    for id in $(acknowledged); do
        printf 'url = "%s/articles/%s"\noutput = "/dev/null"\n' "$1" "$id"
    done >"$place/requests"
    [[ "$(curl -sS --max-time 60 -K "$place/requests" -w '%{http_code}\n' 2>/dev/null | grep -c '^200$')" \
        -eq "$(acknowledged | wc -l)" ]]
}

# The files of mails of all nodes, and the names of these files, each of which is the Message-ID of a mail.
fleet_mails() { find "$place"/node?/mail -name "*.eml" 2>/dev/null; }
message_ids() { fleet_mails | sed 's|.*/||' | sort -u; }
has_mails() { [[ "$(message_ids | wc -l)" -ge "$1" ]]; }

# Whether the copies of all nodes have the same objects. Prints nothing.
has_equal_copies() {
    local node
    for node in 0 1 2; do
        "$programs/strata" export "$place/node$node/press.sqlite" >"$place/export$node" 2>"$place/export.log" \
            || return 1
        [[ -s "$place/export$node" ]] || return 1
    done
    cmp -s "$place/export0" "$place/export1" && cmp -s "$place/export0" "$place/export2"
}

# Kills a node under load, and starts it again.
tour_fleet() {
    local node author writers=() writer articles=60 count
    step "press: a store in PostgreSQL with 1000 articles, and three nodes with a copy each"
    start_postgres
    if [[ ${#remote_settings[@]} -eq 0 ]]; then remote_settings=(--remote-folder "$place/remote"); fi
    "$programs/press" seed --data-folder "$place/node0" --articles 1000 --log-level error "${remote_settings[@]}"
    for node in 0 1 2; do start_node "$node"; done
    start_proxy
    for node in 0 1 2; do
        # A copy that is not complete would have fewer pages.
        curl -fsS "${addresses[$node]}/articles?size=1" | cut -c 1-100
    done

    step "press: four clients write through a proxy, and one of the nodes is killed in the middle"
    address="$front"
    author="$(post /authors '{"name": "Ada", "email": "ada@example.com"}')"
    [[ -n "$author" ]] || fail "an author was not acknowledged"
    for number in 1 2 3; do
        [[ -n "$(post /subscribers "{\"email\": \"reader$number@example.com\"}")" ]] \
            || fail "a subscriber was not acknowledged"
    done
    mkdir "$place/acknowledged" "$place/pictures" "$place/repeated" "$place/sent"
    for writer in 1 2 3 4; do
        write_articles "$writer" "$articles" "$author" 9>&- &
        writers+=($!)
        started+=($!)
    done
    eventually 120 has_acknowledged 60 "${nodes[1]}" || fail "the articles take too long"
    kill -KILL "${nodes[1]}"
    wait "${nodes[1]}" 2>/dev/null || true
    nodes[1]=""
    echo "killed (SIGKILL) the second of three nodes when $(acknowledged | wc -l | tr -d ' ') articles were" \
        "acknowledged"
    eventually 120 has_acknowledged 140 "${nodes[0]}" || fail "the other nodes do not go on"
    start_node 1
    echo "started it again when $(acknowledged | wc -l | tr -d ' ') articles were acknowledged"
    for writer in "${writers[@]}"; do wait "$writer" || fail "a client has lost an article"; done
    started=()
    count="$(acknowledged | wc -l | tr -d ' ')"
    [[ "$count" -eq $((4 * articles)) ]] || fail "$count articles were acknowledged"
    [[ "$(acknowledged | sort -u | wc -l)" -eq "$count" ]] || fail "two requests have the same article"
    echo "$count articles were acknowledged; $(acknowledged repeated | wc -l | tr -d ' ') requests got no answer or" \
        "502 to 504, and were sent again"

    step "press: every node has every article and picture, and each subscriber gets each article once"
    for node in 0 1 2; do
        eventually 60 has_all_articles "${addresses[$node]}" || fail "a node lacks an acknowledged article"
        eventually 120 has_finished_pictures "${addresses[$node]}" || fail "some pictures were not mirrored"
        compare_files "${addresses[$node]}"
    done
    if [[ -n "$s3" ]]; then aws s3 sync --quiet s3://press "$place/remote"; fi
    compare_pictures "${addresses[0]}" "$place/remote"
    echo "$count articles and $(acknowledged pictures | wc -l | tr -d ' ') pictures are on three nodes, and the" \
        "pictures at the remote"
    check_mails $((count * 3))

    step "press: the copies of the three nodes are compared"
    eventually 60 has_equal_copies || fail "the copies differ: $(cat "$place/export.log")"
    [[ "$(grep -c '"[$]model":"Article"' "$place/export0")" -eq $((count + 1000)) ]] || fail "an article is there twice"
    echo "the exports of the three copies are the same, $(wc -l <"$place/export0" | tr -d ' ') lines each"

    step "press: the console of the node that was killed"
    [[ "$(status "$front/console/pipelines")" == 403 ]] || fail "the proxy does not refuse the console"
    check_console "${addresses[1]}"
    for node in 0 1 2; do
        kill -TERM "${nodes[$node]}"
        wait "${nodes[$node]}" || fail "press did not end in order"
        nodes[node]=""
    done
}

# Compares each acknowledged picture with what a node serves.
compare_files() {
    local id source
    while read -r id source; do
        curl -fsS --max-time 20 -o "$place/served" "$1/pictures/$id/file" || fail "a node does not serve picture $id"
        cmp "$source" "$place/served" || fail "a node serves picture $id with other bytes"
    done < <(acknowledged pictures)
}

# Each mail has one Message-ID, by which its receiver recognises a repeat. A node that is killed between a mail and the
# commit that records it leaves the mail to another node, which sends it again under the same Message-ID.
check_mails() {
    eventually 120 has_mails "$1" || fail "some mails were not sent: $(message_ids | wc -l) of $1"
    local files ids different
    files="$(fleet_mails | wc -l | tr -d ' ')"
    ids="$(message_ids | wc -l | tr -d ' ')"
    different="$(fleet_mails | while read -r mail; do grep -E "^(To|Subject):" "$mail" | tr -d '\r\n'; echo; done \
        | sort -u | wc -l | tr -d ' ')"
    [[ "$ids" -eq "$1" && "$different" -eq "$1" ]] || fail "$ids mails were sent, of which $different are different"
    # A node sends at most eight mails at once.
    [[ $((files - ids)) -le 8 ]] || fail "$((files - ids)) mails were sent twice"
    echo "$ids mails, each mail once; $((files - ids)) of them were repeated after the kill, under the same Message-ID"
}
