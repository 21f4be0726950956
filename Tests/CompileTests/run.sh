#!/bin/sh
# Checks every case against the built module: run.sh <folder with Strata.swiftmodule>. Extra flags: $FLAGS.
modules=$1; failed=0
cd "$(dirname "$0")" || exit 1
for file in Leak-*.swift Legal-*.swift Warns-*.swift; do
    # Some leaks are found after type checking only, so SIL is made (and thrown away).
    output=$(swiftc -swift-version 6 $FLAGS -parse-as-library -module-name Case -I "$modules" -wmo -emit-sil -o /dev/null Support.swift "$file" 2>&1)
    status=$?
    case $file in
    Leak-*) { [ $status -ne 0 ] && echo "$output" | grep -qE 'error: .*(data race|Sendable|isolated|consum|concurrently)'; } || { echo "ACCEPTED $file"; failed=1; } ;;
    Legal-*) [ $status -eq 0 ] || { echo "REJECTED $file"; echo "$output" | grep error | head -3; failed=1; } ;;
    Warns-*) { [ $status -eq 0 ] && echo "$output" | grep -q warning; } || { echo "NO WARNING $file"; echo "$output" | head -4; failed=1; } ;;
    esac
    [ -n "$VERBOSE" ] && echo "$file: $(echo "$output" | grep -E ' error: | warning: ' | head -1 | sed 's/.*\.swift://')"
done
[ $failed -eq 0 ] && echo "all as expected"
exit $failed
