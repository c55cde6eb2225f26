#!/usr/bin/env bash
# Runs the tests that `cargo test` leaves out because they take minutes: two processes on one database file, and a writer that is
# killed two hundred times.
#
#     scripts/long-tests.sh
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test -p turnwright-sqlite --test it -- --ignored --nocapture
