#!/usr/bin/env bash
# Keeps many tokens in a real gnome-keyring, restarts it, and looks for each: the suite ManyItemsTests, which the tests run
# with 200. Takes as long as the keyring takes to write its file so often: some minutes for 10 000.
#
# Usage: Tests/Faults/many_items.sh [COUNT]
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
export COFFER_MANY_ITEMS=${1:-10000}
exec swift test --filter ManyItemsTests
