#!/bin/sh
# Seals a file of 2 GiB and a sparse one of 5 GiB with the release build, in bounded memory: at most 64 MiB.
# Each is verified, written out again and compared. Needs about 15 GiB of disk and a few minutes.
#
#     Tests/Faults/large_files.sh [DIRECTORY]
set -eu

package=$(cd "$(dirname "$0")/../.." && pwd)
place=$(mktemp -d "${1:-${TMPDIR:-/var/tmp}}/coffer-large-XXXXXX")
limit=65536
trap 'rm -rf "$place"' EXIT
trap 'exit 1' INT TERM HUP

swift build --package-path "$package" -c release --product coffer >&2
coffer=$(swift build --package-path "$package" -c release --show-bin-path)/coffer
export COFFER_HOME="$place/home"

# Runs a command of coffer; leaves what it printed in $place/output and prints its peak of resident memory.
measured() {
    python3 - "$place/output" "$coffer" "$@" <<'END'
import os, resource, subprocess, sys, time
begin = time.monotonic()
with open(sys.argv[1], "wb") as output:
    code = subprocess.run(sys.argv[2:], stdout=output, stdin=subprocess.DEVNULL).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(peak, f"{time.monotonic() - begin:.1f}")
sys.exit(code)
END
}

failed=0
step() {
    title=$1
    shift
    result=$(measured "$@")
    peak=${result% *}
    verdict=ok
    if [ "$peak" -gt "$limit" ]; then verdict=TOO-MUCH; failed=1; fi
    printf '%-16s %8d KiB %8s s  %s\n' "$title" "$peak" "${result#* }" "$verdict"
}

"$coffer" init --no-passcode --keyring file >/dev/null
head -c 2147483648 /dev/urandom >"$place/random"
truncate -s 5368709120 "$place/sparse"
printf 'near the end' | dd of="$place/sparse" bs=1 seek=5368709000 conv=notrunc 2>/dev/null

for name in random sparse; do
    step "$name: add" file add "$place/$name"
    id=$(cat "$place/output")
    step "$name: verify" file verify "$id"
    step "$name: export" file export "$id" "$place/out"
    cmp "$place/$name" "$place/out"
    rm "$place/out"
    step "$name: range" file cat "$id" --range 2147483000-2147483647
    tail -c +2147483001 "$place/$name" | head -c 648 | cmp - "$place/output"
    "$coffer" file remove "$id"
    rm "$place/$name"
done
exit $failed
