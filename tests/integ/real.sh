# real.sh - what the tests with the built engine share, beside lib.sh. Sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2034 # broker: for lib.sh

# start_real_broker [CONF LINE...]: the built engine on the emulated H200, or on $real_device; its log goes to $dir/broker.log.
# shellcheck disable=SC2120 # the lines are optional
start_real_broker() {
	printf '%s\n' "[device \"${real_device:-emu:h200}\"]" "$@" >"$dir/conf"
	mkfifo "$dir/ready"
	"$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 9>"$dir/ready" 2>"$dir/broker.log" &
	broker=$!
	read -r _ <"$dir/ready" || fail "gsbrokerd did not start: $(cat "$dir/broker.log")"
}

gpu_db=$build/examples/gpu_db/gpu_db

# In a sanitized build the library comes after the runtime, and leaks of the tenant are not asked for: its
# tables lie in pages that the leak checker does not read. Broker and engine are checked in full.
tenant_asan=verify_asan_link_order=0:detect_leaks=0

# end_broker: stop_broker of lib.sh, and what a sanitizer said in broker or engine fails the case.
end_broker() {
	stop_broker
	! grep -E 'Sanitizer|runtime error' "$dir/broker.log" || fail "$(cat "$dir/broker.log")"
}

tenant() { # tenant NAME COMMAND...
	local name=$1
	shift
	ASAN_OPTIONS=$tenant_asan \
		"$build/tools/gsbrun" --socket "$dir/s" --tenant "$name" -- "$@"
}

# n_tenants: how many tenants the broker still lists, dead ones that are not cleaned up included.
n_tenants() {
	gsbctl ps | tail -n +2 | wc -l
}

# Until every tenant is gone; each question is an answered message, so this neither spins nor sleeps long.
await_no_tenants() {
	local i
	for i in $(seq 3000); do
		[ "$(n_tenants)" -eq 0 ] && return
	done
	fail "tenants are left after $i questions: $(gsbctl ps)"
}

engine_pid() {
	children_of "$broker" | tr -d ' '
}

make_data() {
	"$gpu_db" gen --data "$dir/data" --quiet >/dev/null
}

query() { # query NAME QUERY [OPTION...]: run and verify; output in $dir/NAME.out
	local name=$1 q=$2
	shift 2
	tenant "$name" "$gpu_db" run --data "$dir/data" --query "$q" --verify --quiet "$@" >"$dir/$name.out" 2>&1
}

# five_queries [OPTION...]: all at once, each a tenant of its own, verified; until all are gone.
five_queries() {
	local q queries=()
	for q in q1 q2 q3 q4 q5; do
		query "$q" "$q" "$@" &
		queries+=($!)
	done
	for q in "${queries[@]}"; do
		wait "$q" || fail "a query failed: $(cat "$dir"/q?.out)"
	done
	await_no_tenants
}

# What an engine holds: descriptors, and mappings of tenants. Of those that have gone threads give it back.
holdings() {
	local pid i
	pid=$(engine_pid)
	for i in $(seq 3000); do
		grep -qx gsb-puncher "/proc/$pid/task/"*/comm 2>/dev/null || break
	done
	[ "$i" -lt 3000 ] || fail "a thread that gives back what a tenant had does not end"
	echo "$(find "/proc/$pid/fd" -mindepth 1 | wc -l) fds, $(grep -cE 'memfd:gsb' "/proc/$pid/maps") mappings"
}

# One session daemon of LTTng serves all of a user's programs, and a session has the events of all engines: cases with either take
# turns, of whichever build, until all that they started have ended.
take_lttng() {
	local lock=/tmp/gsb-test-lttng-$UID.lock # not of TMPDIR: mutants have one each
	exec {lttng_turn}>"$lock"
	flock --wait 300 "$lttng_turn" || fail "somebody else keeps $lock"
}
