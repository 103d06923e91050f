#!/usr/bin/env bash
# launch_path.sh - how many instructions a posted launch costs the tenant, counted by callgrind, in the same run
# that shows that the engine consumed as many records as there were launches.
# Usage: from the build folder: srcdir=... tests/integ/launch_path.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

LAUNCHES=2000
WARM=100 # gsb-bench tenant launches one burst before it measures
LIMIT=344 # about 285 where the engine is awake, 343 where every launch rings
TRACED_LIMIT=354 # 3 % more: a record is stamped

# per_launch: of a program under callgrind, into $per_launch.
count_launches() {
	local total
	"$build/tools/gsbrun" --socket "$dir/s" -- valgrind --tool=callgrind --callgrind-out-file="$dir/out" \
		--toggle-collect=cuLaunchKernel "$build/tools/gsb-bench" tenant -n "$LAUNCHES" -b "$WARM" >"$dir/bench" 2>"$dir/err" ||
		fail "$(cat "$dir/err")"
	total=$(sed -n 's/^\(summary\|totals\): *//p' "$dir/out" | head -n 1)
	[ "${total:-0}" -gt 0 ] || fail "callgrind counted nothing"
	per_launch=$((total / (LAUNCHES + WARM)))
}

start_null_broker() {
	printf '%s\n' '[device "null"]' >"$dir/conf"
	mkfifo "$dir/ready"
	"$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 9>"$dir/ready" 2>"$dir/broker.log" &
	broker=$!
	read -r _ <"$dir/ready" || fail "gsbrokerd did not start"
}

launch_path_is_at_most_344_instructions() {
	local per_launch consumed
	start_null_broker
	count_launches
	consumed=$(json_value "$(gsbctl status --json)" launches)
	echo "    $per_launch instructions a launch, $((LAUNCHES + WARM)) launches, $consumed consumed by the engine"
	expect_equal "$consumed" $((LAUNCHES + WARM))
	[ "$per_launch" -le "$LIMIT" ] || fail "more than $LIMIT instructions"
	stop_broker
}

launch_path_of_a_recorded_tenant_is_at_most_354_instructions() {
	local per_launch
	start_null_broker
	gsbctl trace record "$dir/t.gsb" >/dev/null
	count_launches
	echo "    $per_launch instructions a launch while it is recorded"
	gsbctl trace stop >/dev/null
	expect_equal "$(gsbctl trace dump "$dir/t.gsb" | grep -c 'queued .*posted_ns=[1-9].*kind=launch')" $((LAUNCHES + WARM))
	[ "$per_launch" -le "$TRACED_LIMIT" ] || fail "more than $TRACED_LIMIT instructions"
	stop_broker
}

run_case launch_path_is_at_most_344_instructions
run_case launch_path_of_a_recorded_tenant_is_at_most_354_instructions
[ "$failures" -eq 0 ]
