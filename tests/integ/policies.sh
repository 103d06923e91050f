#!/usr/bin/env bash
# policies.sh - whole tenants under each policy: results verified, and in the recording what the policy is there for.
# Usage: from the build folder: srcdir=... tests/integ/policies.sh
# shellcheck disable=SC2119 # start_real_broker may take lines of configuration
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

# record_policy POLICY [CONF LINE...]: five queries at once under it, verified, twice each; the recording is whole and in $dir/t.gsb. They
# begin together, so that who is there with whom does not depend on which process comes first.
record_policy() {
	make_data
	start_real_broker "policy = $1" '[engine]' 'start_line = 5' 'gate_timeout_ms = 600000' "${@:2}"
	gsbctl trace record "$dir/t.gsb" >/dev/null
	five_queries --repeat 2
	gsbctl trace stop >/dev/null
	expect_match "$(gsbctl status --json)" "\"policy\": \"$1\""
	end_broker
	"$build/tests/integ/trace_check" "$dir/t.gsb" >"$dir/sums" || fail "$(tail -n 3 "$dir/sums")"
}

# decided PATTERN: how many decisions of the recording have a line like it.
decided() {
	"$build/tools/gsbctl" trace dump "$dir/t.gsb" | grep ' decided' | grep -cE "$1"
}

# most_at_once FILTER: on the device, of commands whose decision matches it, as "COMMANDS of TENANTS".
most_at_once() {
	"$build/tools/gsbctl" trace dump "$dir/t.gsb" | awk -v filter="$1" '
		{ match($0, /serial=[0-9]+/); serial = substr($0, RSTART, RLENGTH) }
		/ decided / && $0 ~ filter { counts[serial] = 1 }
		/ issued / && counts[serial] { n++; if (!(of[$2]++)) tenants++ }
		/ finished / && counts[serial] { n--; if (!--of[$2]) tenants-- }
		n > most { most = n }
		tenants > most_tenants { most_tenants = tenants }
		END { print most " of " most_tenants }'
}

policies_fifo_has_all_tenants_on_the_device() {
	record_policy fifo
	expect_match "$(most_at_once .)" '^[0-9]+ of [345]$'
	expect_match "$(most_at_once 'threads_per_block=[1-9]')" '^[0-9]+ of [2345]$'
}

policies_serial_has_one_tenant_on_the_device() {
	record_policy serial
	[ "$(decided 'reason=turn')" -gt 0 ] || fail "nobody ever waited for his turn"
	expect_match "$(most_at_once .)" '^[0-9]+ of 1$'
}

policies_multiqx_has_one_kernel_on_the_device() {
	record_policy multiqx
	[ "$(decided 'reason=turn')" -gt 0 ] || fail "no kernel ever waited for another"
	expect_equal "$(most_at_once 'threads_per_block=[1-9]')" "1 of 1"
	expect_match "$(most_at_once .)" '^[0-9]+ of [2345]$'
}

policies_coreside_predicts_what_it_has_seen() {
	record_policy coreside
	[ "$(decided 'verdict=issue.*predicted_ns=[1-9]|predicted_ns=[1-9].*verdict=issue')" -gt 10 ] || fail "next to nothing was predicted"
	expect_match "$("$build/tools/trace/gsb-trace" model-error "$dir/t.gsb")" '[1-9][0-9]* .*all kernels'
}

policies_priority_keeps_the_critical_tenant_apart() {
	record_policy priority '[tenant "q3"]' 'critical = 1' '[tenant "q1"]' 'weight = 300'
	[ "$(decided 'reason=critical')" -gt 0 ] || fail "nothing of the critical tenant went first"
	[ "$(decided 'reason=reserved')" -gt 0 ] || fail "nobody was kept off its SMs"
}

run_case policies_fifo_has_all_tenants_on_the_device
run_case policies_serial_has_one_tenant_on_the_device
run_case policies_multiqx_has_one_kernel_on_the_device
run_case policies_coreside_predicts_what_it_has_seen
run_case policies_priority_keeps_the_critical_tenant_apart
[ "$failures" -eq 0 ]
