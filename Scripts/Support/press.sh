# What the parts of the tour with the example press share. Sourced, not run. Needs $place, a folder, $programs, the
# folder of the built programs, and $token, the token of the console.
#
# Scripts that source this set and read the variables.
# shellcheck shell=bash disable=SC2034,SC2154

# Starts the service, and waits until it listens. Sets press, its process, and address. Its messages go to standard
# error. PORT is 0 for any free port.
#
#   start_press FOLDER PORT [SETTINGS]
start_press() {
    local data="$1" port="$2" turn
    shift 2
    : >"$data.out"
    # File 9 keeps PostgreSQL running, and belongs to the script alone.
    PRESS_CONSOLE_TOKEN="$token" "$programs/press" serve --data-folder "$data" --http-port "$port" --log-level error \
        "$@" >"$data.out" 9>&- &
    press=$!
    for ((turn = 0; turn < 1200; turn++)); do
        if grep -q "^listening on " "$data.out"; then break; fi
        kill -0 "$press" 2>/dev/null || fail "press has ended by itself"
        sleep 0.05
    done
    grep -q "^listening on " "$data.out" || fail "press does not listen"
    address="http://$(sed -n 's/^listening on //p' "$data.out")"
}

# Prints the status of the answer to a request.
status() { curl -sS --max-time 20 -o /dev/null -w '%{http_code}' "$@"; }

# Sends JSON, and prints the id in the answer; nothing if the service did not acknowledge the request.
post() {
    curl -sS --max-time 20 -H "Content-Type: application/json" -d "$2" "$address$1" 2>/dev/null \
        | sed -n 's/.*"id":"\([^"]*\)".*/\1/p' || true
}

# Prints the lines that the writers have recorded about acknowledged requests.
acknowledged() { cat "$place/${1:-acknowledged}"/* 2>/dev/null | sort; }

# Whether a number of requests was acknowledged. Fails the script if a process has ended by itself.
#
#   has_acknowledged COUNT PROCESS [KIND]
has_acknowledged() {
    kill -0 "$2" 2>/dev/null || fail "press has ended by itself"
    [[ "$(acknowledged "${3:-acknowledged}" | wc -l)" -ge "$1" ]]
}

# Prints a PNG of 4 by 3 pixels, with 200,000 random bytes as its data. Its checksums are wrong, and press does not
# check them.
png() {
    printf '\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x04\x00\x00\x00\x03\x08\x02\x00\x00\x00CCCC'
    printf '\x00\x03\x0d\x40IDAT'
    head -c 200000 /dev/urandom
    printf 'CCCC\x00\x00\x00\x00IENDCCCC'
}

# Sends a picture of an article, and records its id and the file that was sent.
#
#   send_picture ADDRESS ARTICLE FILE RECORD [HEADER]
#
# Sends again if a server was not there. Then the article may have the picture twice.
send_picture() {
    local answer attempt
    for ((attempt = 0; attempt < 100; attempt++)); do
        answer="$(curl -sS --max-time 20 -H "Content-Type: image/png" ${5+-H "$5"} --data-binary "@$3" \
            -w '\n%{http_code}' "$1/articles/$2/pictures" 2>/dev/null)" || true
        case "${answer##*$'\n'}" in
        201)
            echo "$(sed -n 's/.*"id":"\([^"]*\)".*/\1/p' <<<"$answer") $3" >>"$4"
            return
            ;;
        000 | 502 | 503 | 504) sleep 0.1 ;;
        *) fail "a picture was refused: $answer" ;;
        esac
        # Without a proxy, nothing answers until the service is started again.
        if [[ -z "${5-}" ]]; then return 1; fi
    done
    fail "a picture was not acknowledged"
}

# Whether all acknowledged pictures have their preview and have arrived at the remote. Each of the two counts as one
# edit of the picture, so that its version is 3 if both happened once.
#
#   has_finished_pictures ADDRESS
has_finished_pictures() {
    local id source row
    while read -r id source; do
        row="$(curl -fsS --max-time 20 "$1/pictures/$id" 2>/dev/null)" || return 1
        [[ "$row" == *'"state":"ready"'* && "$row" == *'"mirroredAt":"'* ]] || return 1
        [[ "$row" == *'"version":3'* ]] || fail "the preview or the upload of a picture was recorded twice: $row"
    done < <(acknowledged pictures)
}

# Compares each acknowledged picture with the file of the same name in the copy of the remote.
#
#   compare_pictures ADDRESS FOLDER
compare_pictures() {
    local id source name file
    while read -r id source; do
        name="$(curl -fsS --max-time 20 "$1/pictures/$id" | sed -n 's/.*"file":"\([^"]*\)".*/\1/p')"
        file="$(find "$2" -type f -name "$name")"
        [[ -n "$name" && -n "$file" ]] || fail "picture $id has not arrived at the remote"
        cmp "$source" "$file" || fail "picture $id has other bytes at the remote"
    done < <(acknowledged pictures)
}

# Starts the S3 server of the tests, makes a bucket, and waits until it is there. Sets s3, the process, and
# remote_settings. The bucket is in the memory of the server.
start_s3() {
    ensure_python_servers
    local port
    port="$(free_port)"
    export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true
    s3_address="http://127.0.0.1:$port"
    BIND_HOST=127.0.0.1 SERVICES=s3 GATEWAY_PORT="$port" "$root/.build/servers-venv/bin/ministack" \
        >"$place/s3.log" 2>&1 9>&- &
    s3=$!
    eventually 60 aws s3 mb s3://press >/dev/null 2>&1 \
        || fail "the S3 server has not come up: $(tail -n 3 "$place/s3.log")"
    remote_settings=(--remote-bucket press --remote-endpoint "$s3_address" --remote-region us-east-1)
}

aws() { "$root/.build/servers-venv/bin/aws" --endpoint-url "$s3_address" "$@"; }

# The console of a service needs its token, and shows the pipelines.
#
#   check_console ADDRESS
check_console() {
    local page
    [[ "$(status "$1/console/pipelines")" == 401 ]] || fail "the console does not need its token"
    [[ "$(status -c "$place/cookies" -d "token=$token" "$1/console/login")" == 303 ]] || fail "the token was refused"
    page="$(curl -fsS -b "$place/cookies" "$1/console/pipelines")"
    [[ "$page" == *mail* && "$page" == *pictures* ]] || fail "the console does not show the pipelines"
    echo "the console shows the pipelines of mails and pictures"
}
