#!/usr/bin/env bash
# gsbrun.sh - gsbrun: which broker a command gets, what it finds in its environment, how it and gsbrun end, and that a
# private broker never stays behind.
# Usage: from the build folder: srcdir=... tests/integ/gsbrun.sh
# shellcheck disable=SC2119 # start_broker and hold may take arguments
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

# gsbrun with a private broker on the stub engine; folders for it are made in $dir.
private() {
	TMPDIR=$dir "$build/tools/gsbrun" --config "$dir/conf" "$@"
}

prepare() {
	write_conf 'log = warn' '[device "emu:/ok"]'
	unset XDG_RUNTIME_DIR LD_PRELOAD LD_LIBRARY_PATH GSB_SOCKET
}

expect_no_private_broker() {
	expect_equal "$(find "$dir" -name 'gsbrun-*' | wc -l)" 0
}

# wrong MESSAGE ARGUMENT...: what gsbrun says to a wrong command line
wrong() {
	local message=$1
	shift
	status_of "$build/tools/gsbrun" "$@"
	expect_equal "$status" 2
	expect_match "$output" "^gsbrun: $message"
}

gsbrun_wrong_usage_exits_2() {
	wrong "there is no command"
	wrong "there is no command" --private --
	wrong "unrecognized option '--no-such-option'" --no-such-option true
	wrong "--socket is for a broker that runs, --private and --config start one" --socket /x --private true
	wrong "--config says device, policy and start_line already" --config /x --device null true
	wrong "--tenant a b: must be 1 to 63 letters, digits and any of _-\.@:\+" --tenant 'a b' true
	wrong "--tenant 0{64}: must be 1 to 63 letters" --tenant "$(printf '%064d' 0)" true
}

bench_wrong_usage_exits_2() {
	local i arguments=("" "fly" "--no-such-option" "transport --launches 0" "transport --launches 1x" "transport extra" "memory 3"
		"model --instances 1001" "model --seed x" "model --arch h300" "model x")
	local messages=("no part given" "no part 'fly'; there are transport, threads, memory, model, emu, compare, device and its parts" "unrecognized option"
		"--launches 0: must be a number" "--launches 1x: must be a number" "'extra' is no option" "'3' is no option"
		"--instances 1001: must be a number from 1 to 1000" "--seed x: must be a number" "--arch h300: no such GPU" "'x' is no option")
	for i in "${!arguments[@]}"; do
		# shellcheck disable=SC2086 # words
		status_of "$build/tools/gsb-bench" ${arguments[i]}
		expect_equal "$status" 2
		expect_match "$output" "^gsb-bench( transport| memory| model)?: ${messages[i]}"
	done
}

gsbrun_stops_at_the_command() {
	prepare
	status_of private echo --socket --version
	expect_equal "$status" 0
	expect_match "$output" "^--socket --version$"
}

gsbrun_returns_the_status_of_the_command() {
	prepare
	status_of private -- sh -c 'exit 7'
	expect_equal "$status" 7
	status_of private -- "$dir/nothing-there"
	expect_equal "$status" 127
	status_of private -- "$dir"
	expect_equal "$status" 126
	status_of private -- sh -c 'kill -TERM $$'
	expect_equal "$status" 143
	expect_no_private_broker
}

gsbrun_command_reaches_its_private_broker() {
	prepare
	# shellcheck disable=SC2016 # for the command's shell
	status_of private --tenant alice -- sh -c '"$0" "$GSB_SOCKET" --tenant "$GSB_TENANT"; ls -ld "${GSB_SOCKET%/*}"' \
		"$build/tests/integ/hello"
	expect_equal "$status" 0
	expect_match "$output" "^welcome 1 stub for alice"
	expect_match "$output" "^drwx------ "
	expect_no_private_broker
}

gsbrun_adds_to_preload_and_library_path() {
	prepare
	# shellcheck disable=SC2016
	status_of env LD_PRELOAD=libc.so.6 LD_LIBRARY_PATH=/nonexistent TMPDIR="$dir" "$build/tools/gsbrun" \
		--config "$dir/conf" sh -c 'echo "$LD_PRELOAD"; echo "$LD_LIBRARY_PATH"'
	expect_match "$output" "^libc\.so\.6:$build/interpose/libgsbroker\.so:$build/toolkit/libgsbtoolkit\.so$"
	expect_match "$output" "^$build/cudart/lib:$build/interpose:/nonexistent$"
}

gsbrun_verbose_says_whose_runtime_the_command_gets() {
	prepare
	status_of private --verbose true
	expect_equal "$status" 0
	expect_match "$output" "^gsbrun: the device is emulated: libcudart.so.12 and .13 are gsbroker's, in $build/cudart/lib$"
	status_of private true
	expect_equal "$output" ""
}

gsbrun_within_gsbrun_uses_the_outer_broker_and_adds_once() {
	prepare
	# shellcheck disable=SC2016
	status_of private -- "$build/tools/gsbrun" sh -c 'echo "$LD_PRELOAD $GSB_SOCKET"'
	expect_equal "$status" 0
	expect_match "$output" "^$build/interpose/libgsbroker\.so:$build/toolkit/libgsbtoolkit\.so $dir/gsbrun-......./?socket$"
	expect_no_private_broker
}

gsbrun_uses_a_running_broker() {
	prepare
	start_broker
	# shellcheck disable=SC2016
	status_of "$build/tools/gsbrun" --socket "$dir/s" --device emu:/ok --policy fifo sh -c 'echo "$GSB_SOCKET"'
	expect_equal "$status" 0
	expect_equal "$output" "$dir/s"
	stop_broker
}

gsbrun_refuses_a_running_broker_with_another_device() {
	prepare
	start_broker
	for option in "" --fallback; do
		# shellcheck disable=SC2086
		status_of "$build/tools/gsbrun" $option --socket "$dir/s" --device null echo ran
		expect_equal "$status" 125
		expect_match "$output" "the broker that runs on $dir/s has device emu:/ok and policy fifo"
		expect_no_match "$output" "^ran"
	done
	stop_broker
}

gsbrun_without_the_broker_asked_for_fails_or_falls_back() {
	status_of "$build/tools/gsbrun" --socket "$dir/s" echo ran
	expect_equal "$status" 125
	expect_match "$output" "no gsbrokerd listens on $dir/s"
	# shellcheck disable=SC2016
	status_of env -u LD_PRELOAD "$build/tools/gsbrun" --fallback --socket "$dir/s" sh -c 'echo "ran${LD_PRELOAD-}"'
	expect_equal "$status" 0
	expect_match "$output" "^ran$"
	expect_match "$output" "no broker: sh runs without one"
}

gsbrun_private_broker_that_cannot_start_is_explained() {
	printf '[engine]\npolicy = nonsense\n' >"$dir/conf"
	status_of private echo ran
	expect_equal "$status" 125
	expect_match "$output" "conf:2: policy = nonsense: must be"
	expect_match "$output" "a private broker \(.*\) did not start"
	expect_no_private_broker
}

# with_descriptors N: a private broker and its command, each with no more
with_descriptors() {
	ulimit -n "$1"
	# shellcheck disable=SC2016 # for the command's shell
	private -- sh -c '"$0" "$GSB_SOCKET"' "$build/tests/integ/hello"
}

# Whoever lacks the next one: gsbrokerd to start, for the command's process, or for the engine.
gsbrun_that_lacks_descriptors_says_so() {
	local n all=
	prepare
	for n in {9..24}; do
		status_of with_descriptors "$n"
		expect_no_match "$output" 'namespace|another path|Bad file descriptor|Invalid argument|exited with status'
		all+=$output$'\n'
	done
	expect_match "$all" 'cannot listen on .*: Too many open files: start gsbrokerd with a higher ulimit -n'
	expect_match "$all" '^refused -24 gsbrokerd has no descriptor left: start it with a higher ulimit -n'
	expect_match "$all" '^refused -24 no engine for emu:/ok could be started from .*: Too many open files'
	expect_match "$output" '^welcome 1 '
}

# without_descriptors COMMAND...: a private broker and its command, none of which has a standard descriptor
without_descriptors() {
	private -- "$@" <&- >&- 2>&-
}

# The pipes to the private broker must not be what is its standard output; the command has none either.
gsbrun_without_standard_descriptors_starts_a_private_broker() {
	prepare
	# shellcheck disable=SC2016
	without_descriptors sh -c '"$0" "$GSB_SOCKET" >"$1"; for i in 0 1 2; do [ -e "/proc/$$/fd/$i" ] && exit 3; done; exit 0' \
		"$build/tests/integ/hello" "$dir/said"
	expect_match "$(cat "$dir/said")" "^welcome 1 "
	expect_no_private_broker
}

gsbrun_device_or_policy_that_is_not_there_is_named() {
	prepare
	status_of env TMPDIR="$dir" "$build/tools/gsbrun" --private --device emu:h300 echo ran
	expect_equal "$status" 125
	expect_match "$output" "^gsbrokerd: --device emu:h300: must be emu:NAME, emu:/FILE, cuda:N or null; NAME is one of .*h200"
	expect_no_match "$output" "standard input|^ran"
	status_of env TMPDIR="$dir" "$build/tools/gsbrun" --private --policy nonsense echo ran
	expect_equal "$status" 125
	expect_match "$output" "^gsbrokerd: --policy nonsense: must be fifo"
	expect_no_private_broker
}

# The command's standard error is its own: a private broker says what is wrong, and nothing else.
gsbrun_private_broker_is_quiet() {
	write_conf 'log = debug' '[device "emu:/ok"]'
	# shellcheck disable=SC2016
	status_of private -- sh -c '"$0" "$GSB_SOCKET"' "$build/tests/integ/hello"
	expect_match "$output" "^welcome 1 "
	expect_no_match "$output" "^gsbrokerd: "
	expect_match "$output" "^stub: argument --log-level=warn"
	status_of env GSB_DEBUG=info TMPDIR="$dir" "$build/tools/gsbrun" --config "$dir/conf" true
	expect_match "$output" "^gsbrokerd: info: supervisor: listening on "
}

# A command that says its process and its broker's, then waits to be ended.
# shellcheck disable=SC2016
waiting='"$1" "$GSB_SOCKET" >/dev/null
	trap "echo got TERM; exit 9" TERM
	cat "$GSB_SOCKET.pid" >"$0/broker"
	echo $$ >"$0/command"
	read -r _ <"$0/never" & wait'

# start_waiting: gsbrun with that command; sets $run, $command, $broker and $engine.
start_waiting() {
	mkfifo "$dir/never" "$dir/command"
	exec {never_fd}<>"$dir/never" # ours alone: with the case ends whoever still reads it
	TMPDIR=$dir "$build/tools/gsbrun" --config "$dir/conf" sh -c "$waiting" "$dir" "$build/tests/integ/hello" \
		{never_fd}>&- >"$dir/out" 2>&1 &
	run=$!
	read -r command <"$dir/command"
	read -r broker <"$dir/broker"
	engine=$(children_of "$broker")
}

gsbrun_passes_signals_to_the_command() {
	prepare
	start_waiting
	kill -TERM "$run"
	status=0
	wait "$run" || status=$?
	expect_equal "$status" 9
	expect_match "$(cat "$dir/out")" "^got TERM$"
	[ ! -d "/proc/$broker" ] && [ ! -d "/proc/$engine" ]
	expect_no_private_broker
}

gsbrun_killed_takes_command_broker_and_folder_with_it() {
	prepare
	start_waiting
	kill -KILL "$run"
	await_end "$command"
	await_end "$engine"
	await_end "$broker"
	expect_no_private_broker
}

gsbrun_cleans_up_after_a_killed_private_broker() {
	prepare
	start_waiting
	kill -KILL "$broker"
	await_end "$engine"
	kill -TERM "$run"
	wait "$run" || true
	expect_no_private_broker
}

run_case gsbrun_wrong_usage_exits_2
run_case bench_wrong_usage_exits_2
run_case gsbrun_stops_at_the_command
run_case gsbrun_device_or_policy_that_is_not_there_is_named
run_case gsbrun_that_lacks_descriptors_says_so
run_case gsbrun_without_standard_descriptors_starts_a_private_broker
run_case gsbrun_private_broker_is_quiet
run_case gsbrun_returns_the_status_of_the_command
run_case gsbrun_command_reaches_its_private_broker
run_case gsbrun_adds_to_preload_and_library_path
run_case gsbrun_verbose_says_whose_runtime_the_command_gets
run_case gsbrun_within_gsbrun_uses_the_outer_broker_and_adds_once
run_case gsbrun_uses_a_running_broker
run_case gsbrun_refuses_a_running_broker_with_another_device
run_case gsbrun_without_the_broker_asked_for_fails_or_falls_back
run_case gsbrun_private_broker_that_cannot_start_is_explained
run_case gsbrun_passes_signals_to_the_command
run_case gsbrun_killed_takes_command_broker_and_folder_with_it
run_case gsbrun_cleans_up_after_a_killed_private_broker
[ "$failures" -eq 0 ]
