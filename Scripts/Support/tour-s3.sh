# The part of the tour for --s3. Sourced, not run.
#
# The variables are those of press.sh.
# shellcheck shell=bash disable=SC2034,SC2154

# Keeps pictures in a bucket, kills the service while clients send them, and compares the bucket with what they have
# sent.
tour_s3() {
    step "press: a service that mirrors its pictures to a bucket of an S3 server"
    start_s3
    start_press "$place/press" 0 "${remote_settings[@]}"
    local author article writers=() writer
    author="$(post /authors '{"name": "Ada", "email": "ada@example.com"}')"
    mkdir "$place/pictures" "$place/sent"

    step "press: four clients send pictures, and the service is killed in the middle"
    for writer in 1 2 3 4; do
        article="$(post /articles "{\"title\": \"Rivers $writer\", \"body\": \"Text\", \"author\": \"$author\"}")"
        [[ -n "$article" ]] || fail "an article was not acknowledged"
        send_pictures "$writer" "$article" &
        writers+=($!)
        started+=($!)
    done
    eventually 60 has_acknowledged 20 "$press" pictures || fail "the pictures take too long"
    kill -KILL "$press"
    wait "$press" 2>/dev/null || true
    for writer in "${writers[@]}"; do wait "$writer" || fail "a client was refused"; done
    started=()
    local count
    count="$(acknowledged pictures | wc -l | tr -d ' ')"
    aws s3 sync --quiet s3://press "$place/before"
    echo "killed (SIGKILL) when $count pictures were acknowledged, and" \
        "$(find "$place/before" -type f -name '*.png' | wc -l | tr -d ' ') were in the bucket"

    step "press: the same again, which uploads the others"
    start_press "$place/press" 0 "${remote_settings[@]}"
    eventually 120 has_finished_pictures "$address" || fail "some pictures do not arrive in the bucket"
    aws s3 sync --quiet s3://press "$place/bucket"
    compare_pictures "$address" "$place/bucket"
    # The kill leaves neither a part of a picture nor one that no article has.
    local file
    while read -r file; do
        cmp "$file" "$place/press/pictures/$(basename "$file")" || fail "the bucket has other bytes than the service"
    done < <(find "$place/bucket" -type f -name '*.png')
    kill -TERM "$press"
    wait "$press" || fail "press did not end in order"
    press=""
    echo "all $count pictures are in the bucket, byte for byte"
}

# One client: sends pictures of an article until the service does not answer.
send_pictures() {
    local number file
    # An article has at most 50 pictures.
    for ((number = 1; number <= 50; number++)); do
        file="$place/sent/$1-$number.png"
        png >"$file"
        send_picture "$address" "$2" "$file" "$place/pictures/$1" || return 0
    done
}
