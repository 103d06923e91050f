#!/usr/bin/env bash
# launch_path.sh - how many instructions a posted launch costs the tenant, counted by callgrind, in the same run
# that shows that the engine consumed as many records as there were launches.
# Usage: from the build folder: srcdir=... tests/integ/launch_path.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

LAUNCHES=2000
WARM=100 # gsb-bench tenant launches one burst before it measures
LIMIT=344 # about 280 where the engine is awake, 337 where every launch rings

launch_path_is_at_most_344_instructions() {
	local total per_launch consumed
	printf '%s\n' '[device "null"]' >"$dir/conf"
	mkfifo "$dir/ready"
	"$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 9>"$dir/ready" 2>"$dir/broker.log" &
	broker=$!
	read -r _ <"$dir/ready" || fail "gsbrokerd did not start"
	"$build/tools/gsbrun" --socket "$dir/s" -- valgrind --tool=callgrind --callgrind-out-file="$dir/out" \
		--toggle-collect=cuLaunchKernel "$build/tools/gsb-bench" tenant -n "$LAUNCHES" -b "$WARM" >"$dir/bench" 2>"$dir/err" ||
		fail "$(cat "$dir/err")"
	total=$(sed -n 's/^\(summary\|totals\): *//p' "$dir/out" | head -n 1)
	[ "${total:-0}" -gt 0 ] || fail "callgrind counted nothing"
	per_launch=$((total / (LAUNCHES + WARM)))
	consumed=$(json_value "$(gsbctl status --json)" launches)
	echo "    $per_launch instructions a launch, $((LAUNCHES + WARM)) launches, $consumed consumed by the engine"
	expect_equal "$consumed" $((LAUNCHES + WARM))
	[ "$per_launch" -le "$LIMIT" ] || fail "more than $LIMIT instructions"
	stop_broker
}

run_case launch_path_is_at_most_344_instructions
[ "$failures" -eq 0 ]
