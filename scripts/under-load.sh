#!/usr/bin/env bash
# Runs the tests several times under load on all cores, to find tests that depend on timing.
#
#   scripts/under-load.sh                                        # three times cargo test --workspace --all-features
#   scripts/under-load.sh cargo test -p turnwright-cli           # another command
#
# UNDER_LOAD_RUNS      number of runs. Default: 3.
# UNDER_LOAD_THREADS   number of busy processes. Default: twice the number of cores.
# UNDER_LOAD_SECONDS   timeout of one run. Default: 3600.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
  set -- cargo test --workspace --all-features
fi

runs=${UNDER_LOAD_RUNS:-3}
threads=${UNDER_LOAD_THREADS:-$((2 * $(nproc)))}
seconds=${UNDER_LOAD_SECONDS:-3600}

# Build before the load starts.
if [ "$1 ${2:-}" = "cargo test" ]; then
  build=()
  for word in "$@"; do
    [ "$word" = "--" ] && break
    build+=("$word")
  done
  "${build[@]}" --no-run
fi

load=()
stop() {
  for id in "${load[@]}"; do kill "$id" 2>/dev/null || true; done
}
trap stop EXIT
for _ in $(seq "$threads"); do
  # Also ends by itself if this script is killed.
  timeout $((runs * seconds)) sh -c 'while :; do :; done' &
  load+=($!)
done

for run in $(seq "$runs"); do
  echo "run $run of $runs with $threads busy processes"
  timeout "$seconds" "$@"
done
