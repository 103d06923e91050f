#!/usr/bin/env bash
# mps.sh - isolation = mps: the daemons that gsbrokerd starts for engines, what it tells them, and what it does without. The engine is a
# stub (stub_engine.c), and so is NVIDIA's control program (tests/fake/nvidia-cuda-mps-control), which notes what it is told.
# Usage: from the build folder: srcdir=... tests/integ/mps.sh
# shellcheck disable=SC2119 # start_broker and hold may take arguments
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

# start_with_mps [CONF LINE...]: a broker for cuda:0 whose control program lies in $dir/bin.
start_with_mps() {
	mkdir -p "$dir/bin"
	mkfifo "$dir/nothing"
	install -m 0755 "$srcdir/tests/fake/nvidia-cuda-mps-control" "$dir/bin/"
	chmod 0777 "$dir/bin"
	write_conf "$@" '[engine]' 'isolation = mps' '[device "cuda:0"]'
	PATH=$dir/bin:$PATH start_broker
	folder=$dir/s.mps/cuda-0-$(id -u)
}

told() {
	cat "$dir/bin/told" 2>/dev/null
}

daemon_pid() {
	cat "$folder/nvidia-cuda-mps-control.pid"
}

# The engines: children of the broker that are no daemon.
engines() {
	local pid
	for pid in $(children_of "$broker"); do
		! grep -q gsb-engine "/proc/$pid/cmdline" || echo "$pid"
	done
}

# expect_end: stop_broker, after which nothing of MPS is left.
expect_end() {
	stop_broker
	[ ! -e "$dir/s.mps" ] || fail "left: $(find "$dir/s.mps")"
}

mps_engines_of_one_user_are_clients_of_one_daemon() {
	start_with_mps
	hold
	hold
	expect_equal "$(engines | wc -w)" 2
	expect_equal "$(told | grep -c "^start $folder\$")" 1
	expect_equal "$(stat -c %a "$dir/s.mps" "$folder" | xargs)" "700 700"
	for engine in $(engines); do
		expect_match "$(tr '\0' '\n' <"/proc/$engine/environ")" "^CUDA_MPS_PIPE_DIRECTORY=$folder\$"
		expect_match "$(tr '\0' '\n' <"/proc/$engine/environ")" "^CUDA_MPS_LOG_DIRECTORY=$folder\$"
		expect_match "$(tr '\0' '\n' <"/proc/$engine/cmdline")" "^--mps\$"
	done
	expect_match "$(gsbctl status --json)" '"isolation": "mps"'
	expect_end
	expect_equal "$(told | tail -n 1)" "$folder: quit"
	expect_match "$(rest_of_log)" "an MPS daemon of cuda:0 for uid $(id -u) was started: pid [0-9]+, in $folder"
}

mps_daemon_answers_before_the_engine_is_started() {
	start_with_mps
	: >"$dir/bin/slow"
	hold_later
	await_log "an MPS daemon of cuda:0 .* was started"
	await_told 3 ": get_server_list"
	expect_equal "$(engines | wc -w)" 0
	rm "$dir/bin/slow"
	await_log "the MPS daemon of cuda:0 .* is ready"
	await_log "cuda:0 for uid .* started: pid"
	expect_end
}

# A client that does not wait for its answer.
hold_later() {
	mkfifo "$dir/later"
	# shellcheck disable=SC2034 # it only keeps the pipe open
	exec {later_fd}<>"$dir/later"
	"$build/tests/integ/hello" "$dir/s" "$@" <"$dir/later" >"$dir/later.said" &
	clients="${clients-} $!"
}

# await_told N PATTERN: until it was told so as often.
await_told() {
	local i
	for i in $(seq 3000); do
		[ "$(told | grep -cE -e "$2")" -lt "$1" ] || return 0
		read -r -t 0.01 <>"$dir/nothing" || true
	done
	fail "never told $1 times: $2, but: $(told)"
}

mps_is_of_no_use_to_other_devices() {
	mkdir "$dir/bin"
	write_conf '[device "emu:/ok"]' 'isolation = mps'
	start_broker
	hold
	hold
	expect_equal "$(engines | wc -w)" 2
	expect_no_match "$(tr '\0' '\n' <"/proc/$(engines | head -n 1)/environ")" CUDA_MPS
	expect_end
}

mps_absent_is_said_with_the_remedy() {
	write_conf '[device "cuda:0"]' 'isolation = mps'
	start_broker
	expect_match "$(hello)" "^refused .* MPS: nvidia-cuda-mps-control cannot be run: No such file or directory: it comes with NVIDIA's driver"
	expect_match "$(hello)" "or set isolation = process"
	expect_end
}

mps_daemon_that_fails_is_named_with_its_last_words() {
	start_with_mps
	: >"$dir/bin/fails"
	expect_match "$(hello)" "^refused .*the MPS daemon of cuda:0 for uid $(id -u) exited with status 1: no GPU is willing"
	rm "$dir/bin/fails"
	expect_match "$(hello)" "^welcome"
	expect_end
}

mps_daemon_that_dies_is_started_again_for_the_next_engine() {
	start_with_mps
	hold
	first=$(daemon_pid)
	kill -KILL "$first"
	await_log "the MPS daemon of cuda:0 .* was ended by signal 9 .*; the next engine gets another"
	expect_equal "$(engines | wc -w)" 1
	hold
	expect_match "$answer" "^welcome"
	[ "$(daemon_pid)" != "$first" ] || fail "the same daemon"
	expect_equal "$(told | grep -c '^start ')" 2
	expect_end
}

# With lanes an engine stays when it has ended, with the user's next tenant in mind.
mps_engine_that_ends_with_its_daemon_gets_another_when_it_is_started_again() {
	start_with_mps
	write_conf '[engine]' 'isolation = lanes' '[device "cuda:0"]'
	gsbctl reload >/dev/null
	hold
	first=$(daemon_pid)
	kill -KILL "$first"
	await_log "the MPS daemon of cuda:0 .* was ended by signal 9 .*; the next engine gets another"
	kill -KILL "$(engines)"
	await_log "tenants lost: 1"
	hold
	expect_match "$answer" "^welcome"
	expect_equal "$(told | grep -c '^start ')" 2
	expect_end
}

mps_daemon_without_engines_ends_after_a_while() {
	start_with_mps 'idle_timeout_ms = 50'
	hello >/dev/null
	await_log "the MPS daemon of cuda:0 .* has had no engine for long: it ends"
	await_log "the MPS daemon of cuda:0 .* \(pid [0-9]+\) was ended"
	hello >/dev/null
	expect_equal "$(told | grep -c '^start ')" 2
	expect_end
}

# Two tenants in turn, with no time between: the first one's daemon serves the second.
mps_daemon_stays_for_the_next_tenant() {
	start_with_mps
	hello >/dev/null
	await_log "exited with status 0"
	hello >/dev/null
	expect_equal "$(told | grep -c '^start ')" 1
	expect_end
}

# One whose kernel does not end is parted from the GPU, and killed then; its neighbour is not touched.
mps_client_with_an_endless_kernel_is_parted_before_it_is_killed() {
	start_with_mps
	hold
	neighbour=$(engines)
	hold_later --tenant stuck --hold
	await_log "was ended by signal 9 .*: a kernel of it does not end"
	engine=$(sed -nE 's/.*cuda:0 \(pid ([0-9]+)\) was ended by signal 9.*/\1/p' <<<"$line")
	expect_match "$(told)" "^$folder: terminate_client $(daemon_pid)1 $engine\$"
	expect_equal "$(engines)" "$neighbour"
	expect_end
}

# A daemon that does not answer keeps nobody alive.
mps_client_is_killed_although_its_daemon_does_not_answer() {
	start_with_mps
	hold
	: >"$dir/bin/deaf"
	hold_later --tenant stuck --hold
	await_log "does not part with client [0-9]+: its neighbours may be told"
	await_log "was ended by signal 9 .*: a kernel of it does not end"
	rm "$dir/bin/deaf"
	expect_end
}

mps_client_of_no_server_is_killed_at_once() {
	start_with_mps
	: >"$dir/bin/headless"
	hold_later --tenant stuck --hold
	await_log "does not part with client"
	await_log "was ended by signal 9"
	expect_no_match "$(told)" terminate_client
	expect_end
}

# Without MPS nobody is asked.
mps_less_engine_with_an_endless_kernel_is_killed() {
	write_conf '[device "emu:/ok"]' 'isolation = process'
	start_broker
	hold_later --tenant stuck --hold
	await_log "was ended by signal 9 .*: a kernel of it does not end"
	expect_end
}

mps_daemon_of_a_killed_gsbrokerd_ends_with_it() {
	start_with_mps
	hold
	pid=$(daemon_pid)
	kill -KILL "$broker"
	await_end "$pid"
	wait "$broker" || true
}

# It may have been stopped just then: the next one has it end first.
mps_daemon_that_was_left_is_ended_first() {
	start_with_mps
	mkdir -m 0700 "$dir/s.mps" "$folder"
	PATH=$dir/bin:$PATH CUDA_MPS_PIPE_DIRECTORY=$folder nvidia-cuda-mps-control -f &
	until [ -e "$folder/control" ]; do read -r -t 0.01 <>"$dir/nothing" || true; done
	left=$(daemon_pid)
	expect_match "$(hello)" "^welcome"
	await_log "an MPS daemon that was left in $folder was ended"
	await_end "$left"
	expect_equal "$(told | sed -n 2p)" "$folder: quit"
	expect_end
}

mps_folder_of_somebody_else_is_not_used() {
	start_with_mps
	mkdir -m 0755 "$dir/s.mps"
	expect_match "$(hello)" "^refused .* no folder $folder of gsbrokerd's own, mode 0700: .* remove what is there"
	expect_equal "$(told)" ""
	expect_end
}

mps_socket_with_a_long_path_is_refused_by_name() {
	local deep=$dir/0123456789012345678901234567890123456789012345678901234567890123456789
	mkdir "$deep"
	write_conf '[device "cuda:0"]' 'isolation = mps'
	mkfifo "$dir/ready"
	"$build/broker/gsbrokerd" --config "$dir/conf" --socket "$deep/s" --ready-fd 9 2>"$dir/log" 9>"$dir/ready" &
	broker=$!
	read -r _ <"$dir/ready"
	expect_match "$("$build/tests/integ/hello" "$deep/s")" "^refused .*File name too long: give a shorter \[broker\] socket"
	kill "$broker"
	wait "$broker"
}

mps_daemons_serve_one_user_each() {
	start_with_mps 'socket_mode = 0666'
	hold
	expect_match "$(as_nobody "$(reachable tests/integ/hello)" "$dir/s")" "^welcome"
	expect_equal "$(told | grep '^start ' | sort | xargs)" "start $folder start $dir/s.mps/cuda-0-65534"
	expect_end
}

run_case mps_engines_of_one_user_are_clients_of_one_daemon
run_case mps_daemon_answers_before_the_engine_is_started
run_case mps_is_of_no_use_to_other_devices
run_case mps_absent_is_said_with_the_remedy
run_case mps_daemon_that_fails_is_named_with_its_last_words
run_case mps_daemon_that_dies_is_started_again_for_the_next_engine
run_case mps_engine_that_ends_with_its_daemon_gets_another_when_it_is_started_again
run_case mps_daemon_without_engines_ends_after_a_while
run_case mps_daemon_stays_for_the_next_tenant
run_case mps_client_with_an_endless_kernel_is_parted_before_it_is_killed
run_case mps_client_is_killed_although_its_daemon_does_not_answer
run_case mps_client_of_no_server_is_killed_at_once
run_case mps_less_engine_with_an_endless_kernel_is_killed
run_case mps_daemon_of_a_killed_gsbrokerd_ends_with_it
run_case mps_daemon_that_was_left_is_ended_first
run_case mps_folder_of_somebody_else_is_not_used
run_case mps_socket_with_a_long_path_is_refused_by_name
if is_root; then
	run_case mps_daemons_serve_one_user_each
else
	skip_case mps_daemons_serve_one_user_each
fi
[ "$failures" -eq 0 ]
