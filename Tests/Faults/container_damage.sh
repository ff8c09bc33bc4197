#!/bin/sh
# Damages containers in 20 000 ways drawn at random, and cuts and lengthens those of nothing to three chunks at every
# byte of the body: each is refused or gives the right plaintext, and nothing crashes. Takes a few minutes. A sample of
# it runs with the other tests.
#
#     Tests/Faults/container_damage.sh [TRIALS]
set -eu

package=$(cd "$(dirname "$0")/../.." && pwd)
export COFFER_DAMAGE="${1:-20000}" SWIFT_BACKTRACE=enable=no
swift build --package-path "$package" --build-tests >&2
swift test --package-path "$package" --skip-build --filter ContainerDamageTests
