#!/usr/bin/env bash
# Puts many files into a mailbox and follows it until each of them is judged: the suite ManyOrdersTests, which the tests run
# with 20 000. Prints the most memory that the tests took. 100 000 take 100 MB of disk and some minutes.
#
# Usage: Tests/Faults/many_orders.sh [COUNT]
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
export COFFER_ORDERS=${1:-100000} SWIFT_BACKTRACE=enable=no
swift build --build-tests >&2
python3 - <<'EOF'
import resource, subprocess, sys
code = subprocess.call(["swift", "test", "--skip-build", "--filter", "ManyOrdersTests"])
print("peak resident memory: %d MiB" % (resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10))
sys.exit(code)
EOF
