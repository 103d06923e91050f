# traces.sh - what is asked of the trace of five tenants, be it a file or an LTTng session. Sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2154 # dir, build, status, output: lib.sh's

gsb_trace() {
	"$build/tools/trace/gsb-trace" "$@"
}

# note_totals: what the broker has counted, a tenant a line, in $dir/totals.
note_totals() {
	gsbctl totals --json | sed 's/{"tenant"/\n&/g' >"$dir/totals"
}

# row FILE TENANT: the line of a tenant in JSON of one object a line
row() {
	sed 's/{"id"/\n&/g' "$1" | grep -m 1 "\"tenant\": \"$2\""
}

expect_sums_of_the_broker() { # expect_sums_of_the_broker TRACE
	local q total
	status_of gsb_trace check "$1"
	expect_equal "$status $(tail -n 1 <<<"$output")" '0 every chain is complete and in order'
	expect_match "$output" '^5 of 5 tenants compared with the broker.s counters: 0 differences$'
	gsb_trace summary --json "$1" >"$dir/summary"
	for q in q1 q2 q3 q4 q5; do
		total=$(grep "\"tenant\": \"$q\"" "$dir/totals")
		expect_equal "$(json_value "$(row "$dir/summary" "$q")" launches)" "$(json_value "$total" launches)"
		expect_equal "$(json_value "$(row "$dir/summary" "$q")" copies)" "$(json_value "$total" copies)"
		expect_equal "$(json_value "$(row "$dir/summary" "$q")" bytes_h2d)" "$(json_value "$total" bytes_h2d)"
		expect_equal "$(json_value "$(row "$dir/summary" "$q")" bytes_d2h)" "$(json_value "$total" bytes_d2h)"
		expect_equal "$(($(json_value "$(row "$dir/summary" "$q")" alone_ns) + $(json_value "$(row "$dir/summary" "$q")" shared_ns)))" \
			"$(json_value "$total" device_ns)"
	done
	expect_match "$(gsb_trace summary "$1")" '^ 2  |^ 1  q'
}

expect_explanations() { # expect_explanations TRACE
	local serial
	gsb_trace critical --json "$1" q2 >"$dir/chain"
	# the steps join: each begins where the one before it ended
	grep -oE '"from_ns": [0-9]+, "ns": [0-9]+' "$dir/chain" |
		awk -F '[ ,]+' 'NR > 1 && $2 != next_ns { print "a gap at " $2 } { next_ns = $2 + $4 }' >"$dir/gaps"
	[ ! -s "$dir/gaps" ] || fail "$(cat "$dir/gaps")"
	expect_equal "$(grep -c from_ns "$dir/chain")" 1
	expect_match "$(gsb_trace critical "$1" q2)" '^q2 \(tenant [0-9]+\): .* kernels|kernels'
	serial=$(json_value "$(cat "$dir/chain")" last_serial)
	status_of gsb_trace explain "$1" "$serial"
	expect_equal "$status" 0
	expect_match "$output" "^serial $serial: .* of q2 \(tenant [0-9]+, gpu_db\), "
	expect_match "$output" '^  completed   at '
	expect_match "$(gsb_trace explain "$1" join_write)" '^join_write: 15 operations, 15 of them launches'
	expect_match "$(gsb_trace explain "$1" q3)" '^The one that waited longest:$'
	expect_match "$(gsb_trace model-error "$1")" '^fifo predicts nothing'
}

expect_files() { # expect_files TRACE FINISHED: profiles and pictures; so many operations went to the device and back
	gsb_trace profile -o "$dir/tau" "$1"
	expect_equal "$(sed -nE 's/^"join_write" ([0-9]+) .*/\1/p' "$dir"/tau/profile.* | awk '{ n += $1 } END { print n }')" 15
	expect_equal "$(head -qn 1 "$dir"/tau/profile.* | sort -u | grep -vcE '^[0-9]+ templated_functions_MULTI_TIME$')" 0
	gsb_trace perfetto -o "$dir/out.json" "$1"
	gsb_trace error-plot -o "$dir/out.svg" "$1"
	expect_equal "$(grep -c 'no launch was both predicted and measured' "$dir/out.svg")" 2
	expect_equal "$(grep -c '"ph": "X"' "$dir/out.json")" "$2"
}

expect_load_of_all_that_was_posted() { # expect_load_of_all_that_was_posted TRACE: in $dir/load
	local q id
	gsb_trace replay -o "$dir/load" "$1"
	expect_equal "$(head -n 1 "$dir/load")" 'gsb-load version=1'
	expect_equal "$(tail -n 1 "$dir/load")" "end lines=$(($(wc -l <"$dir/load") - 1))"
	expect_match "$(gsb_trace check "$1")" " $(grep -c '^op ' "$dir/load") operations, "
	for q in q1 q2 q3 q4 q5; do
		id=$(sed -nE "s/^tenant id=([0-9]+) name=$q .*/\1/p" "$dir/load")
		expect_equal "$q $(grep -c "^op .* tenant=$id .*kind=launch .*kernel=" "$dir/load")" \
			"$q $(json_value "$(grep "\"tenant\": \"$q\"" "$dir/totals")" launches)"
	done
	# it waits for what it copies back, and goes on from there
	expect_match "$(grep 'kind=launch' "$dir/load")" ' after=[0-9]+ think=[0-9]+ '
	expect_match "$(cat "$dir/load")" '^kernel id=[0-9]+ tenant=[0-9]+ name=join_write regs=[1-9]'
}
