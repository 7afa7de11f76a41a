#!/usr/bin/env bash
# run_fuzzer.sh NAME SECONDS: runs one fuzzer of build/fuzz and prints one line. An input that crashes the fuzzer stays
# in build/fuzz/crashes. Exit code: 0 no crash, 1 a crash.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

name=$1 seconds=$2 status=0
folder=build/fuzz/corpus/$name crashes=build/fuzz/crashes log=build/fuzz/$name.log program=build/fuzz/bin/fuzz_$name
mkdir -p "$folder" "$crashes"
ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0 UBSAN_OPTIONS=print_stacktrace=1 \
  "$program" -max_total_time="$seconds" -max_len=8192 -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=256 \
  -print_final_stats=1 -artifact_prefix="$crashes/$name-" "$folder" "properties/fuzz/seeds/$name" >"$log" 2>&1 || status=$?
executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
found=$(sed -n "s|.*Test unit written to \($crashes/.*\)$|\1|p" "$log" | head -n 1)
echo "    $name: ${executions:-0} executions, ${rate:-0} per second, $((status == 0 ? 0 : 1)) crashes"
((status)) || exit 0
grep -m1 -E '^found: |runtime error: |ERROR: (Address|Leak|lib)' "$log" | sed 's/^/      /' || tail -n 5 "$log"
echo "      replay: $program ${found:-$log}"
exit 1
