#!/usr/bin/env bash
# broker.sh - gsbrokerd at its door and with its engines: who gets in, what is refused and how, what happens to engines
# that fail, hang or die, reload, and the end. The engine is a stub, so that it can misbehave (stub_engine.c).
# Usage: from the build folder: srcdir=... tests/integ/broker.sh
# shellcheck disable=SC2119 # start_broker and hold may take arguments
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

# ---- configuration on the command line ----

broker_check_config_prints_all_errors_and_exits_1() {
	printf '[brokr]\n[engine]\nworkers = many\n' >"$dir/conf"
	status_of "$build/broker/gsbrokerd" --config "$dir/conf" --check-config
	expect_equal "$status" 1
	expect_match "$output" "conf:1: unknown section \[brokr\]; did you mean \[broker\]\?"
	expect_match "$output" "conf:3: workers = many: must be a number"
}

broker_print_config_is_valid_input_that_prints_the_same() {
	write_conf '[device "null"]' 'workers = 3' '[tenant "a"]' 'staging = 3M'
	"$build/broker/gsbrokerd" --config "$dir/conf" --print-config >"$dir/first"
	"$build/broker/gsbrokerd" --config "$dir/first" --check-config >/dev/null
	"$build/broker/gsbrokerd" --config "$dir/first" --print-config >"$dir/second"
	cmp "$dir/first" "$dir/second"
	grep -qx 'staging = 3M' "$dir/first"
}

# refused MESSAGE ARGUMENT...: what gsbrokerd says to a wrong command line
refused() {
	local message=$1
	shift
	status_of "$build/broker/gsbrokerd" "$@"
	expect_equal "$status" 2
	expect_match "$output" "^gsbrokerd: $message"
}

broker_wrong_usage_exits_2() {
	refused "unrecognized option '--no-such-option'" --no-such-option
	refused "--ready-fd 99: must be the number of an open descriptor" --ready-fd 99
	refused "'extra' is no option" --check-config extra
	refused "--config says device, policy and start_line already" --config /x --device null
	refused "--socket and --private both say where to listen" --socket /x --private /y
	refused "--check-config or --print-config, not both" --check-config --print-config
}

engine_wrong_usage_exits_2() {
	local i arguments=("" "--control-fd 3" "--control-fd 3 --device null extra" "--control-fd 3 --device null --workers many"
		"--connections 33" "--spare-lanes 99")
	local messages=("it is started by gsbrokerd, with --control-fd and --device" "it is started by gsbrokerd"
		"'extra' is no option" "--workers many: not a valid value" "--connections 33: not a valid value"
		"--spare-lanes 99: not a valid value")
	for i in "${!arguments[@]}"; do
		# shellcheck disable=SC2086 # words
		status_of "$build/broker/gsb-engine" ${arguments[i]}
		expect_equal "$status" 2
		expect_match "$output" "^gsb-engine: ${messages[i]}"
	done
}

broker_takes_device_and_policy_instead_of_a_configuration() {
	status_of "$build/broker/gsbrokerd" --device null --policy fifo --print-config
	expect_equal "$status" 0
	expect_match "$output" '^\[device "null"\]$'
	expect_no_match "$output" '^\[device "emu'
	status_of "$build/broker/gsbrokerd" --device cuda:0 --check-config
	expect_equal "$status" 0
	status_of "$build/broker/gsbrokerd" --device cuda:first --check-config
	expect_equal "$status" 1
	expect_match "$output" "^gsbrokerd: --device cuda:first: must be emu:NAME"
}

# ---- the socket ----

broker_absent_is_said_with_the_remedy() {
	status_of hello
	expect_equal "$status" 1
	expect_equal "$output" "no connection: No such file or directory"
	status_of gsbctl status
	expect_equal "$status" 1
	expect_match "$output" "no gsbrokerd listens on $dir/s: start one"
}

broker_second_on_one_socket_is_told_whose_it_is() {
	write_conf '[device "emu:/ok"]'
	start_broker
	status_of "$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s"
	expect_equal "$status" 1
	expect_match "$output" "another gsbrokerd \(pid $broker\) listens on $dir/s: stop it by gsbctl"
	expect_match "$(hello)" "^welcome 1 "
	stop_broker
}

broker_replaces_the_socket_of_a_killed_one() {
	write_conf '[device "emu:/ok"]'
	start_broker
	hold
	engine=$(children_of "$broker")
	kill -KILL "$broker"
	await_end "$engine" # its control socket has ended
	[ -S "$dir/s" ]
	start_broker
	expect_match "$(hello)" "^welcome 1 "
	stop_broker
}

broker_never_replaces_a_file_that_is_no_socket() {
	write_conf
	echo precious >"$dir/s"
	status_of "$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s"
	expect_equal "$status" 1
	expect_equal "$(cat "$dir/s")" precious
}

broker_without_permission_to_bind_says_so() {
	write_conf
	chmod 0644 "$dir/conf"
	mkdir -m 0555 "$dir/closed"
	as=
	if is_root; then as=as_nobody; fi
	status_of $as "$(reachable broker/gsbrokerd)" --config "$dir/conf" --socket "$dir/closed/s"
	expect_equal "$status" 1
	expect_match "$output" "no permission to listen on $dir/closed/s: start gsbrokerd as root, or give another path"
}

# Else a socket would be its standard error, and its engines' too.
broker_started_without_standard_descriptors_has_nothing_else_there() {
	local pid fd
	write_conf '[device "emu:/ok"]'
	mkfifo "$dir/ready"
	"$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 9>"$dir/ready" <&- >&- 2>&- &
	broker=$!
	read -r _ <"$dir/ready"
	hold
	for pid in "$broker" "$(children_of "$broker")"; do
		for fd in 0 1 2; do
			expect_equal "$(readlink "/proc/$pid/fd/$fd")" /dev/null
		done
	done
	stop_broker
}

# with_files_of KIB COMMAND...: that may write no more
with_files_of() {
	ulimit -f "$1"
	shift
	exec "$@"
}

broker_whose_lock_cannot_be_written_says_so_and_leaves_none() {
	write_conf '[device "emu:/ok"]'
	status=0
	output=$( (with_files_of 0 "$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s") 2>&1) || status=$?
	expect_equal "$status" 1
	expect_match "$output" "cannot listen on $dir/s: File too large: start gsbrokerd with a higher ulimit -f"
	[ ! -e "$dir/s.pid" ] || fail "the lock is left"
}

broker_lives_on_when_its_log_may_not_grow() {
	local i
	write_conf '[device "emu:/ok"]'
	mkfifo "$dir/ready"
	with_files_of 1 "$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 9>"$dir/ready" 2>"$dir/full" &
	broker=$!
	read -r _ <"$dir/ready"
	for i in $(seq 40); do gsbctl reload; done
	expect_equal "$(stat -c %s "$dir/full")" 1024
	expect_match "$(cat "$dir/full")" "engines may have 1024 bytes of a file or shared memory: programs may be refused, or fail; start gsbrokerd with a higher ulimit -f"
	expect_equal "$(json_value "$(gsbctl status --json)" reloads)" 40
	stop_broker
}

broker_that_cannot_start_for_a_limit_names_it() {
	write_conf '[device "emu:/ok"]'
	status_of prlimit --sigpending=0: "$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s"
	expect_equal "$status" 1
	expect_match "$output" "cannot start: Resource temporarily unavailable: start gsbrokerd with a higher ulimit -i"
}

# Where a kernel is reckoned takes more than 64 KiB.
broker_gives_engines_stacks_that_its_starter_has_not() {
	write_conf '[device "emu:/ok"]'
	mkfifo "$dir/ready"
	prlimit --stack=1000000: "$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 9>"$dir/ready" 2>"$dir/log" &
	broker=$!
	read -r _ <"$dir/ready"
	hold
	expect_match "$(prlimit --noheadings --raw --output SOFT --stack --pid "$(children_of "$broker")")" '^8388608$'
	expect_no_match "$(cat "$dir/log")" ' of stack: '
	stop_broker
	prlimit --stack=1000000:1000000 "$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 9>"$dir/ready" 2>"$dir/log" &
	broker=$!
	read -r _ <"$dir/ready"
	expect_match "$(cat "$dir/log")" 'engines may have 1000000 bytes of stack: programs may be refused, or fail; start gsbrokerd with a higher ulimit -s'
	stop_broker
}

# It fails five times a second as long as a client waits.
broker_without_a_descriptor_for_a_client_fills_no_log() {
	local asker
	write_conf '[device "emu:/ok"]'
	start_broker
	prlimit --pid "$broker" --nofile=3:
	gsbctl status >/dev/null &
	asker=$!
	await_log "accept failed: Too many open files: start gsbrokerd with a higher ulimit -n; the client waits"
	await_log '\.\.\. and [0-9]+ more like it'
	prlimit --pid "$broker" --nofile=100:
	wait "$asker" || fail "gsbctl was not answered in the end"
	stop_broker
}

broker_without_permission_to_connect_says_so() {
	write_conf 'socket_mode = 0000'
	start_broker
	as=
	if is_root; then as=as_nobody; fi
	status_of $as "$(reachable tools/gsbctl)" --socket "$dir/s" status
	expect_equal "$status" 1
	expect_match "$output" "no permission to connect to $dir/s \(user $(id -un), group $(id -gn), mode 0000\): its administrator can let you in by allow_uid or allow_gid"
	stop_broker
}

# ---- the first message ----

# As in a container of its own, with a socket that is mounted into both.
broker_of_another_pid_namespace_says_so() {
	write_conf
	mkfifo "$dir/ready"
	unshare --pid --fork --kill-child "$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 \
		9>"$dir/ready" 2>"$dir/log" &
	broker=$!
	read -r _ <"$dir/ready" || fail "gsbrokerd did not start: $(cat "$dir/log")"
	expect_match "$(hello)" "^refused -?3 gsbrokerd cannot see the process: run both in one pid namespace"
	status_of env GSB_SOCKET="$dir/s" ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
		LD_PRELOAD="$build/interpose/libgsbroker.so" "$build/tests/integ/misuse" illegal-address
	expect_match "$output" "cuInit: CUDA_ERROR_SYSTEM_NOT_READY"
	expect_match "$output" "run both in one pid namespace"
	kill -TERM "$(children_of "$broker")"
	wait "$broker" || fail "gsbrokerd ended with status $?"
}

broker_refuses_a_wrong_hello_by_name() {
	write_conf '[device "emu:/ok"]'
	start_broker
	expect_match "$(hello --magic 1234)" "^refused -71 the first message has magic 0x1234, gsbroker's is 0x"
	expect_match "$(hello --major 7)" "^refused -93 the library speaks version 7\.[0-9]+, gsbrokerd [0-9]+\."
	expect_match "$(hello --size 40)" "^refused -71 the first message \(type 1, 40 bytes\) is neither"
	expect_match "$(hello --size 60000)" "^refused -90 "
	expect_match "$(hello --type 99)" "^refused -71 the first message \(type 99,"
	expect_match "$(hello --fd)" "^refused -90 .*or carries descriptors"
	expect_match "$(hello --tenant 'a b')" "^refused -22 the tenant name must be"
	expect_match "$(hello --tenant "$(printf '%064d' 0)")" "^refused -22 the tenant name must be"
	expect_match "$(hello --tenant fine)" "^welcome 1 stub for fine"
	expect_equal "$(json_value "$(gsbctl status --json)" refused)" 8
	stop_broker
}

broker_silent_client_is_dropped_and_blocks_nobody() {
	write_conf 'hello_timeout_ms = 300' '[device "emu:/ok"]'
	start_broker
	exec {silent_fd}< <(exec "$build/tests/integ/hello" "$dir/s" --silent)
	expect_match "$(hello)" "^welcome 1 "
	read -r -t "$LIMIT_S" answer <&"$silent_fd"
	expect_match "$answer" "^refused -110 no hello arrived"
	stop_broker
}

broker_full_of_silent_clients_drops_the_oldest() {
	write_conf 'hello_timeout_ms = 60000' 'pending_max = 2' '[device "emu:/ok"]'
	start_broker
	mkfifo "$dir/answers"
	exec {answers_fd}<>"$dir/answers"
	for _ in 1 2 3; do
		"$build/tests/integ/hello" "$dir/s" --silent >"$dir/answers" &
		clients="${clients-} $!"
	done
	IFS= read -r -t "$LIMIT_S" answer <&"$answers_fd"
	expect_match "$answer" "^refused -16 too many connections"
	expect_match "$(hello)" "^welcome 1 "
	# shellcheck disable=SC2086 # a list
	kill $clients 2>/dev/null || true
	stop_broker
}

broker_crowd_of_one_process_drops_its_own() {
	write_conf 'hello_timeout_ms = 500' 'pending_max = 2' '[device "emu:/ok"]'
	start_broker
	exec {silent_fd}< <(exec "$build/tests/integ/hello" "$dir/s" --silent)
	await_status '"pending": 1,'
	expect_match "$(hello --silent --crowd 9)" "^refused -16 too many connections"
	read -r -t "$LIMIT_S" answer <&"$silent_fd"
	expect_match "$answer" "^refused -110 no hello arrived"
	stop_broker
}

# Each keeps a descriptor and the answers that it does not read: a socket takes some 160 of them.
broker_crowd_of_askers_who_do_not_read_is_shed() {
	local i
	write_conf '[device "emu:/ok"]'
	start_broker
	for i in $(seq 250); do hello --tenant "t$i" >/dev/null; done
	hold --askers 300
	expect_match "$answer" "^welcome"
	expect_equal "$(json_value "$(gsbctl status --json)" pending)" 0
	[ "$(find "/proc/$broker/fd" -mindepth 1 | wc -l)" -lt 100 ] || fail "$(ls -l "/proc/$broker/fd")"
	expect_equal "$(gsbctl totals | grep -cw "t[0-9]*")" 250
	# shellcheck disable=SC2086 # a list
	kill $clients 2>/dev/null || true
	stop_broker
	expect_match "$(rest_of_log)" "a request of pid [0-9]+ of uid $UID was dropped: too many are not answered or read yet"
}

broker_limits_the_lines_that_one_user_causes() {
	local i
	write_conf '[device "emu:/ok"]'
	start_broker
	for i in $(seq 300); do hello --type 99 >/dev/null; done
	expect_equal "$(json_value "$(gsbctl status --json)" refused)" 300
	stop_broker
	i=$(rest_of_log | grep -c 'refused: the first message') # 10 at once, then one a second
	if [ "$i" -lt 10 ] || [ "$i" -ge 300 ]; then fail "$i lines"; fi
}

# n_logged PATTERN: lines that say so; n_held: how many are said to have been like others.
n_logged() { rest_of_log | grep -cE -e "$1" || :; }
n_held() { rest_of_log | sed -nE 's/.* engine: uid [0-9]+: \.\.\. and ([0-9]+) more like it$/\1/p' | awk '{n += $1} END {print n + 0}'; }

# 101 tenants come, become another program but for the last, and end: 10 lines of either at once, then one a second, and none
# is lost without a word.
broker_limits_the_lines_of_who_comes_and_goes() {
	local come gone
	write_conf '[device "emu:/ok"]'
	start_broker
	status_of hello --exec 100
	expect_equal "$status" 0
	await_status '"tenants": 0,'
	stop_broker
	come=$(n_logged "tenant [0-9]+ 'hello' .* goes to the engine of")
	gone=$(n_logged "tenant [0-9]+ 'hello' (\(pid [0-9]+\) has become another program|has ended)")
	if [ "$come" -lt 10 ] || [ "$come" -ge 101 ]; then fail "$come lines of who comes"; fi
	if [ "$gone" -lt 10 ] || [ "$gone" -ge 201 ]; then fail "$gone lines of who goes"; fi
	expect_equal "$((come + gone + $(n_held))) of $come, $gone" "302 of $come, $gone"
}

# ---- admission ----

broker_refuses_a_barred_uid_until_a_reload_lets_it_in() {
	write_conf '[device "emu:/ok"]' '[admission]' "deny_uid = $(id -u)"
	start_broker
	expect_match "$(hello)" "^refused -13 uid $(id -u) is barred by deny_uid"
	write_conf '[device "emu:/ok"]' '[admission]' "allow_uid = $(id -u)"
	gsbctl reload
	expect_match "$(hello)" "^welcome 1 "
	write_conf '[device "emu:/ok"]' '[admission]' "allow_uid = 4242"
	gsbctl reload
	expect_match "$(hello)" "^refused -13 uid $(id -u) is not in allow_uid"
	stop_broker
}

# The sample of README.md, as root starts it; the group that it names is the reader's, so here it is one that is there.
broker_readme_sample_admits_the_group_that_it_names() {
	local group=65534
	sed -n '/^## Configuration/,/^## /s/^    //p' "$srcdir/README.md" | sed -E "s/^(allow_gid *= *)[a-z]+/\1$group/" >"$dir/sample"
	grep -qx '\[device "emu:h200"\].*' "$dir/sample"
	grep -qE "^allow_gid *= *$group" "$dir/sample"
	cp "$dir/sample" "$dir/conf"
	start_broker
	reachable tests/integ/hello >/dev/null
	expect_match "$(setpriv --reuid=65533 --regid=$group --clear-groups "$dir/copy-of-hello" "$dir/s")" "^welcome 1 .*H200"
	expect_match "$(setpriv --reuid=65533 --regid=65533 --groups=$group "$dir/copy-of-hello" "$dir/s")" "^welcome 2 .*H200"
	expect_match "$(setpriv --reuid=65533 --regid=65533 --clear-groups "$dir/copy-of-hello" "$dir/s")" \
		"^refused -13 uid 65533 is not in allow_uid or allow_gid"
	stop_broker
}

broker_reload_that_names_who_may_come_opens_the_socket() {
	write_conf '[device "emu:/ok"]'
	start_broker
	await_log "only root can open $dir/s: say who else may in \[admission\] allow_uid or allow_gid"
	reachable tests/integ/hello >/dev/null
	expect_match "$(as_nobody "$dir/copy-of-hello" "$dir/s")" "^no connection: Permission denied"
	write_conf '[device "emu:/ok"]' '[admission]' 'allow_uid = 65534'
	gsbctl reload
	expect_match "$(as_nobody "$dir/copy-of-hello" "$dir/s")" "^welcome "
	write_conf '[device "emu:/ok"]'
	gsbctl reload
	expect_match "$(as_nobody "$dir/copy-of-hello" "$dir/s")" "^no connection: Permission denied"
	stop_broker
}

broker_counts_tenants_against_their_limit() {
	write_conf '[device "emu:/ok"]' '[admission]' 'max_tenants = 1'
	start_broker
	hold
	expect_match "$answer" "^welcome 1 "
	expect_match "$(hello)" "^refused -87 max_tenants is reached \(1 of 1\): wait until a tenant ends"
	kill "$client"
	await_log "tenant 1 'hello' has ended"
	expect_match "$(hello)" "^welcome "
	stop_broker
}

# One process all the time, of a user who may have one tenant.
broker_ends_the_tenant_that_a_process_was_before_exec() {
	write_conf '[device "emu:/ok"]' '[admission]' 'max_tenants_per_uid = 1'
	start_broker
	status_of hello --exec 100
	expect_equal "$status" 0
	expect_equal "$(grep -c '^welcome [0-9]* stub for hello' <<<"$output")" 101
	await_log "tenant 1 'hello' \(pid [0-9]+\) has become another program"
	await_status '"tenants": 0,'
	stop_broker
}

# The engine is not there yet when the second program says hello; the first one is not waited for.
broker_forgets_an_arrival_whose_process_became_another_program() {
	write_conf '[device "emu:/slow"]'
	TMPDIR=$dir start_broker
	hello >"$dir/first" &
	first=$!
	await_log "emu:/slow .* started: pid"
	hello --hasty --exec 1 >"$dir/second" &
	await_log "tenant 2 'hello' (\(pid [0-9]+\) has become another program|did not wait for its engine)"
	await_status '"tenants": 2,'
	: >"$dir/go"
	wait "$first" "$!"
	expect_match "$(cat "$dir/first")" "^welcome 1 "
	expect_match "$(cat "$dir/second")" "^welcome 3 "
	stop_broker
}

broker_gives_another_uid_an_engine_of_its_own() {
	write_conf 'socket_mode = 0666' '[device "emu:/ok"]'
	start_broker
	hold
	expect_match "$(as_nobody "$(reachable tests/integ/hello)" "$dir/s")" "^welcome 2 "
	status_of as_nobody "$(reachable tools/gsbctl)" --socket "$dir/s" shutdown
	expect_equal "$status" 1
	expect_match "$output" "only root, the user of gsbrokerd and the groups of control_gid"
	expect_equal "$(gsbctl status | grep -c '^emu:/ok .* ready ')" 2
	stop_broker
}

broker_gives_each_process_an_engine_with_isolation_process() {
	write_conf '[device "emu:/ok"]' 'isolation = process'
	start_broker
	hold
	first=$client
	hold
	expect_equal "$(children_of "$broker" | wc -w)" 2
	engine=$(children_of "$broker" | cut -d' ' -f1)
	kill "$first"
	await_log "tenant 1 .* has ended"
	await_log "emu:/ok \(pid $engine\) exited with status 0"
	expect_equal "$(gsbctl status --json | grep -o '"state"' | wc -l)" 2 # one engine, one tenant
	stop_broker
}

broker_gives_up_root_for_the_configured_user() {
	write_conf 'user = nobody' '[device "emu:/ok"]'
	chmod 0777 "$dir"
	start_broker
	hold
	expect_match "$(grep '^Uid:' "/proc/$broker/status")" "65534.65534.65534.65534"
	expect_match "$(grep '^Uid:' "/proc/$(children_of "$broker")/status")" "65534.65534"
	kill "$client"
	stop_broker
}

# ---- engines ----

broker_starts_engines_with_clean_environment_and_descriptors() {
	write_conf '[device "emu:/ok"]' 'workers = 3' 'clock = real'
	LD_LIBRARY_PATH=/nonexistent GSB_TENANT=x CUDA_VISIBLE_DEVICES=7 start_broker 7</dev/null
	hello >/dev/null
	await_log "has ended"
	stop_broker
	log=$(rest_of_log)
	expect_match "$log" "stub: argument --device=emu:/ok"
	expect_match "$log" "stub: argument --workers=3"
	expect_match "$log" "stub: argument --real-clock"
	expect_match "$log" "stub: environment PATH="
	expect_no_match "$log" "stub: environment (LD_|GSB_TENANT|CUDA)"
	expect_no_match "$log" "stub: inherited descriptor"
}

broker_engine_that_fails_is_named_with_its_reason() {
	write_conf '[device "emu:/fail"]'
	start_broker
	expect_match "$(hello)" "^refused -19 the engine of emu:/fail exited with status 1: the device is on fire"
	stop_broker
	write_conf '[device "emu:/crash"]'
	start_broker
	expect_match "$(hello)" "^refused -19 the engine of emu:/crash was ended by signal 6"
	expect_match "$(hello)" "^refused -19 "
	expect_equal "$(json_value "$(gsbctl status --json)" engines_died)" 2
	stop_broker
}

broker_engine_that_cannot_be_run_stops_the_start() {
	printf '[broker]\nengine = /nonexistent/engine\n' >"$dir/conf"
	status_of "$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s"
	expect_equal "$status" 1
	expect_match "$output" "the engine /nonexistent/engine cannot be run: No such file or directory"
}

broker_engine_that_hangs_at_start_is_killed() {
	write_conf 'start_timeout_ms = 200' 'stop_timeout_ms = 10' '[device "emu:/hang"]'
	start_broker
	expect_match "$(hello)" "^refused -19 the engine of emu:/hang was ended by signal 9 \(Killed\): it was not ready"
	stop_broker
}

broker_engine_that_does_not_stop_is_killed() {
	write_conf 'stop_timeout_ms = 50' '[device "emu:/mute"]'
	start_broker
	expect_match "$(hello)" "^welcome 1 "
	stop_broker
	expect_match "$(rest_of_log)" "did not stop in time: it is killed"
}

broker_engine_that_was_killed_is_started_again() {
	write_conf '[device "emu:/ok"]'
	start_broker
	hold
	engine=$(children_of "$broker")
	kill -KILL "$engine"
	await_log "emu:/ok \(pid $engine\) was ended by signal 9 \(Killed\); tenants lost: 1; death 1; the next tenant gets a new engine"
	expect_equal "$(json_value "$(gsbctl status --json)" tenants)" 0
	expect_match "$(hello)" "^welcome 2 "
	status=$(gsbctl status --json)
	expect_equal "$(json_value "$status" starts)" 2
	expect_equal "$(json_value "$status" deaths)" 1
	stop_broker
}

# Of gsbrokerd, when it has dealt with all that has ended.
descriptors() {
	await_asleep "$broker"
	ls "/proc/$broker/fd"
}

# As after a fault of another, of which gsbrokerd has not heard yet.
broker_hands_to_the_next_engine_whom_one_has_not_answered() {
	local i before
	write_conf '[device "emu:/faint"]'
	TMPDIR=$dir start_broker
	hold
	expect_match "$answer" "^welcome 1 "
	await_status '"tenants": 1'
	before=$(descriptors)
	expect_match "$(hello)" "^welcome 2 "
	await_status '"tenants": 1'
	expect_equal "$(descriptors)" "$before"
	for i in 3 4 5; do
		touch "$dir/faint"
		expect_match "$(hello)" "^welcome $i "
		[ ! -e "$dir/faint" ] || fail "its engine did not die"
	done
	await_log "tenants lost: 1; death 1"
	await_log "tenants lost: 0; death 3"
	expect_equal "$(json_value "$(gsbctl status --json)" tenants)" 0
	stop_broker
}

broker_does_not_hand_on_for_ever_who_ends_engines() {
	local before after
	write_conf '[device "emu:/faints"]'
	start_broker
	expect_match "$(hello)" "^refused -19 the engine of emu:/faints exited with status 0"
	await_log "death 3"
	before=$(descriptors)
	expect_match "$(hello)" "^refused -19 "
	await_log "death 6"
	after=$(descriptors)
	expect_equal "$before" "$after"
	expect_equal "$(json_value "$(gsbctl status --json)" tenants)" 0
	stop_broker
}

# Its answer is read although it did not read all that it was sent: who has been served is not handed on.
broker_reads_all_that_an_engine_said_before_it_ended() {
	local i pids
	write_conf '[device "emu:/sated"]'
	TMPDIR=$dir start_broker
	"$build/tests/integ/hello" "$dir/s" >"$dir/first" &
	pids=$!
	await_log "tenant 1 |started: pid"
	"$build/tests/integ/hello" "$dir/s" >"$dir/second" &
	pids="$pids $!"
	await_status '"tenants": 2,'
	: >"$dir/go"
	for ((i = 0; i < LIMIT_S * 100; i++)); do
		! grep -q "^welcome" "$dir/first" "$dir/second" || break
		sleep 0.01
	done
	: >"$dir/fed"
	kill -CONT "$broker"
	await_log "tenants lost: 1; death 1"
	# shellcheck disable=SC2086 # two words
	wait $pids
	expect_equal "$(sort "$dir/first" "$dir/second" | cut -c 1-9 | tr '\n' ' ')" "welcome 1 welcome 2 "
	stop_broker
}

# As one waits in an engine for the place of another: it is in no answer to STATUS yet.
broker_does_not_take_for_gone_whom_an_engine_has_not_answered() {
	local pid
	write_conf '[device "emu:/pensive"]'
	TMPDIR=$dir start_broker
	"$build/tests/integ/hello" "$dir/s" >"$dir/first" &
	pid=$!
	await_log "tenant 1 .* goes to the engine"
	gsbctl status >/dev/null
	expect_equal "$(json_value "$(gsbctl status --json)" tenants)" 1
	expect_equal "$(json_value "$(gsbctl status --json)" tenants)" 1
	: >"$dir/go"
	gsbctl status >/dev/null
	wait "$pid"
	expect_match "$(cat "$dir/first")" "^welcome 1 "
	await_status '"tenants": 0,'
	stop_broker
}

# What its engine has not answered when it ends goes where newcomers go: there is one already.
broker_does_not_restart_an_engine_with_orphans_beside_its_successor() {
	local pid
	write_conf '[device "emu:/burdened"]'
	TMPDIR=$dir start_broker
	"$build/tests/integ/hello" "$dir/s" >"$dir/first" &
	pid=$!
	await_log "who comes gets another engine"
	: >"$dir/go"
	kill -STOP "$(children_of "$broker")" # it answers nobody
	first=$(children_of "$broker")
	hold
	expect_match "$answer" "^welcome 2 "
	kill -KILL "$first"
	wait "$pid"
	expect_match "$(cat "$dir/first")" "^welcome 1 "
	expect_equal "$(children_of "$broker" | wc -w)" 1
	stop_broker
	expect_equal "$(rest_of_log | grep -c 'emu:/burdened .*started: pid')" 2
}

broker_starts_who_is_handed_on_as_the_configuration_is_now() {
	write_conf '[device "emu:/faint"]'
	TMPDIR=$dir start_broker
	hold
	write_conf '[device "emu:/faint"]' 'policy = serial'
	gsbctl reload >/dev/null
	: >"$dir/faint"
	expect_match "$(hello)" "^welcome 2 "
	await_log "stub: argument --policy=serial"
	stop_broker
}

broker_hands_on_whom_an_engine_passes() {
	local before
	write_conf '[device "emu:/passes"]'
	TMPDIR=$dir start_broker
	hold
	before=$(descriptors) # one of the first client's may be about to go
	: >"$dir/pass"
	expect_match "$(hello)" "^refused -16 the stub has other things to do"
	expect_equal "$(comm -13 <(sort <<<"$before") <(descriptors | sort))" ""
	expect_equal "$(json_value "$(gsbctl status --json)" tenants)" 1
	rm "$dir/pass"
	expect_match "$(hello)" "^welcome 3 "
	stop_broker
	expect_equal "$(rest_of_log | grep -c "tenant 2 .* is not taken in by emu:/passes .*: the stub has other")" 3
	expect_equal "$(rest_of_log | grep -c "started: pid")" 1
}

# An engine has 64 places.
broker_starts_another_engine_when_one_is_full() {
	local i
	write_conf '[device "emu:/ok"]' '[admission]' 'max_tenants_per_uid = 66'
	start_broker
	for ((i = 1; i <= 66; i++)); do
		hold
		expect_match "$answer" "^welcome $i "
		expect_equal "$(children_of "$broker" | wc -w)" $((i > 64 ? 2 : 1))
	done
	expect_match "$(hello)" "^refused .* max_tenants_per_uid is reached"
	stop_broker
}

broker_of_an_engine_for_each_process_hands_on_too() {
	write_conf '[device "emu:/faint"]' 'isolation = process'
	TMPDIR=$dir start_broker
	touch "$dir/faint"
	expect_match "$(hello)" "^welcome 1 "
	[ ! -e "$dir/faint" ] || fail "its engine did not die"
	stop_broker
}

broker_engine_that_refuses_leaves_no_tenant() {
	write_conf '[device "emu:/refuse"]'
	start_broker
	expect_match "$(hello)" "^refused -28 the stub has no room"
	await_log "was refused by the engine of emu:/refuse: the stub has no room"
	expect_equal "$(json_value "$(gsbctl status --json)" tenants)" 0
	stop_broker
}

broker_status_does_not_wait_for_a_mute_engine() {
	write_conf 'stop_timeout_ms = 10' '[device "emu:/mute"]'
	start_broker
	hold
	expect_match "$(gsbctl status)" "^emu:/mute .* ready .* -$"
	expect_match "$(gsbctl ps)" "^ID  TENANT"
	stop_broker
}

broker_finds_out_about_a_lost_goodbye() {
	write_conf '[device "emu:/forget"]' '[admission]' 'max_tenants = 1'
	start_broker
	hold
	kill "$client"
	await_end "$client"
	# The stub sees the end and says nothing; its answer to a question no longer lists the tenant.
	await_status '"n_tenants": 0,'
	expect_match "$(hello)" "^welcome 2 "
	stop_broker
}

# Who looks on does not keep it: each answer is far from the next timeout, all of them together are not.
broker_idle_engine_ends_although_somebody_looks_on() {
	local i status
	write_conf 'idle_timeout_ms = 300' '[device "emu:/ok"]'
	start_broker
	expect_match "$(hello)" "^welcome 1 "
	for ((i = 0; i < 1000; i++)); do
		status=$(gsbctl status --json)
		! grep -q '"engines": \[\]' <<<"$status" || break
	done
	expect_match "$status" '"engines": \[\]'
	stop_broker
}

broker_engine_without_tenants_ends_and_is_forgotten() {
	write_conf 'idle_timeout_ms = 50' '[device "emu:/ok"]'
	start_broker
	expect_match "$(hello)" "^welcome 1 "
	await_log "emu:/ok for uid $(id -u) \(pid [0-9]+\) has had no tenant for long: it ends"
	await_log "exited with status 0"
	expect_match "$(gsbctl status --json)" '"engines": \[\]'
	expect_match "$(hello)" "^welcome 2 "
	stop_broker
}

broker_engine_with_a_tenant_is_not_idle() {
	write_conf 'idle_timeout_ms = 50' '[device "emu:/ok"]' '[device "emu:/other"]' '[tenant "other"]' 'device = emu:/other'
	start_broker
	hello >/dev/null
	hold
	hello --tenant other >/dev/null
	await_log "emu:/other .* has had no tenant" # by then the time of the first engine would have come
	expect_match "$(gsbctl ps | tail -1)" " $client "
	stop_broker
}

broker_dead_engine_is_forgotten() {
	write_conf 'idle_timeout_ms = 50' '[device "emu:/crash"]'
	start_broker
	expect_match "$(hello)" "^refused -19 "
	await_status '"engines": \[\]'
	stop_broker
}

# 20 users, 15 devices: more pairs than there were places once.
broker_serves_any_number_of_users_and_devices() {
	local user i
	write_conf 'socket_mode = 0666' 'idle_timeout_ms = 20' 'log = warn'
	for i in $(seq 15); do
		printf '%s\n' "[device \"emu:/ok$i\"]" "[tenant \"t$i\"]" "device = emu:/ok$i" >>"$dir/conf"
	done
	reachable tests/integ/hello >/dev/null
	start_broker
	cat <&"$log_fd" >/dev/null & # the stubs say more than a pipe holds
	for user in $(seq 20); do
		# shellcheck disable=SC2016 # for that shell
		output=$(setpriv --reuid="$((20000 + user))" --regid=65534 --clear-groups sh -c \
			'for i in $(seq 15); do "$0" "$1" --tenant "t$i"; done' "$dir/copy-of-hello" "$dir/s")
		expect_equal "$(grep -c '^welcome ' <<<"$output")" 15
	done
	await_status '"engines": \[\]'
	stop_broker
}

# ---- device memory ----

# Each tenant has an engine of its own; the engines share a device of 1,000 MiB.
memory_conf() {
	write_conf '[engine]' 'isolation = process' '[device "emu:/memory"]' '[tenant "hoard"]' 'device_memory = 100M' \
		'[tenant "large"]' 'device_memory = 600M' '[tenant "small"]' 'device_memory = 400M' \
		'[tenant "byte"]' 'device_memory = 1' '[tenant "last"]' 'device_memory = 100M'
}

broker_sells_the_memory_of_a_device_once() {
	memory_conf
	start_broker
	hold --tenant large
	expect_match "$answer" "^welcome 1 "
	large=$client
	engine=$(children_of "$broker")
	expect_match "$(hello --tenant large)" "^refused -28 "
	await_log "stub: refused memory, 419430400 of 1048576000 bytes are free"
	hold --tenant small
	expect_match "$answer" "^welcome 3 "
	expect_match "$(hello --tenant byte)" "^refused -28 "
	expect_match "$(gsbctl status --json)" '"device_mem_free_bytes": 0, "device_mem_total_bytes": 1048576000'
	kill "$large"
	await_log "emu:/memory \(pid $engine\) exited with status 0"
	expect_match "$(hello --tenant large)" "^welcome "
	stop_broker
}

broker_gets_back_the_memory_of_an_engine_that_was_killed() {
	memory_conf
	start_broker
	hold --tenant large
	engine=$(children_of "$broker")
	hold --tenant small
	kill -KILL "$engine"
	await_log "was ended by signal 9"
	expect_match "$(hello --tenant large)" "^welcome "
	stop_broker
}

broker_does_not_wait_for_an_engine_that_is_deaf_to_a_recall() {
	memory_conf
	start_broker
	hold --tenant hoard
	expect_match "$(hello --tenant small)" "^refused -28 "
	await_log "does not say what device memory it can spare: others go on without"
	expect_match "$(hello --tenant byte)" "^refused -28 "
	stop_broker
}

# Its device may take seconds: what it uses is its own until then, and nothing else.
broker_does_not_wait_for_an_engine_that_ends() {
	memory_conf
	start_broker
	hold --tenant last
	hold --tenant large
	expect_match "$answer" "^welcome "
	expect_match "$(gsbctl status --json)" '"device_mem_free_bytes": 314572800, "device_mem_total_bytes": 1048576000'
	expect_match "$(hello --tenant small)" "^refused -28 "
	stop_broker
	expect_no_match "$(rest_of_log)" "does not say|contradicts"
}

# ---- reload ----

broker_reload_changes_limits_of_who_waits_for_an_engine() {
	local pid
	write_conf '[device "emu:/slow"]'
	TMPDIR=$dir start_broker
	"$build/tests/integ/hello" "$dir/s" >"$dir/first" &
	pid=$!
	await_log "started: pid"
	write_conf '[device "emu:/slow"]' '[default]' 'staging = 3M'
	gsbctl reload >/dev/null
	: >"$dir/go"
	wait "$pid"
	expect_match "$(cat "$dir/first")" "^welcome 1 .* 3145728 bytes"
	stop_broker
}

broker_reload_changes_limits_of_running_tenants() {
	write_conf '[device "emu:/ok"]' '[tenant "a"]' 'staging = 2M'
	start_broker
	hold --tenant a
	expect_match "$answer" "stub for a, 2097152 bytes"
	write_conf '[device "emu:/ok"]' '[tenant "a"]' 'staging = 4M'
	kill -HUP "$broker"
	await_log "stub: limits of 1: staging 4194304"
	expect_match "$(hello --tenant a)" "stub for a, 4194304 bytes"
	stop_broker
}

broker_says_which_keys_have_no_effect() {
	write_conf '[device "emu:/ok"]' '[tenant "a"]' 'critical = 1'
	status_of "$build/broker/gsbrokerd" --config "$dir/conf" --check-config
	expect_equal "$status" 0
	expect_match "$output" 'warn: config: \[tenant "a"\] critical = 1 has no effect: emu:/ok has policy fifo; set policy = priority'
	start_broker
	write_conf '[device "emu:/ok"]' '[tenant "a"]' 'slowdown_percent = 20'
	kill -HUP "$broker"
	await_log 'reload: \[tenant "a"\] slowdown_percent = 20 has no effect'
	stop_broker
}

broker_bad_reload_changes_nothing() {
	write_conf '[device "emu:/ok"]' '[tenant "a"]' 'staging = 2M'
	start_broker
	write_conf '[device "emu:/ok"]' '[tenant "a"]' 'staging = 4M' 'image_max = 1'
	kill -HUP "$broker"
	await_log "conf:6: image_max = 1: must be a size"
	await_log "was refused: the configuration stays as it was"
	expect_match "$(hello --tenant a)" "stub for a, 2097152 bytes"
	status_of gsbctl reload
	expect_equal "$status" 1
	expect_match "$output" "conf:6: image_max = 1: must be a size"
	stop_broker
}

# What would have gsbrokerd wait, and everybody with it.
broker_reload_of_what_is_no_plain_file_is_refused() {
	write_conf '[device "emu:/ok"]' '[tenant "a"]' 'staging = 2M'
	start_broker
	rm "$dir/conf"
	mkfifo "$dir/conf"
	status_of gsbctl reload
	expect_equal "$status" 1
	expect_match "$output" "/conf: is no plain file"
	rm "$dir/conf"
	truncate -s 4G "$dir/conf"
	status_of gsbctl reload
	expect_equal "$status" 1
	expect_match "$output" "/conf: is larger than 1 MiB"
	await_log "was refused: the configuration stays as it was"
	expect_match "$(hello --tenant a)" "stub for a, 2097152 bytes"
	stop_broker
}

broker_reload_says_what_needs_a_restart() {
	write_conf '[device "emu:/ok"]'
	start_broker
	write_conf 'socket_mode = 0600' '[device "emu:/ok"]' 'workers = 2'
	status_of gsbctl reload
	expect_equal "$status" 0
	expect_match "$output" "\[broker\] socket_mode has changed: it takes effect when gsbrokerd is restarted"
	expect_match "$output" "devices have changed: engines that run stay as they are"
	stop_broker
}

# ---- the end ----

broker_sigterm_leaves_nothing() {
	write_conf '[device "emu:/ok"]'
	start_broker
	hold
	exec {silent_fd}< <(exec "$build/tests/integ/hello" "$dir/s" --silent)
	await_status '"pending": 1,'
	stop_broker
	read -r -t "$LIMIT_S" answer <&"$silent_fd"
	expect_match "$answer" "^refused -108 gsbrokerd is shutting down"
	expect_equal "$(find "$dir" -name 's*' | wc -l)" 0
}

broker_drain_waits_for_the_last_tenant() {
	write_conf '[device "emu:/ok"]'
	start_broker
	gsbctl shutdown --drain # no engine yet: nothing to wait for
	wait "$broker"
	[ ! -e "$dir/s" ]
	status_of gsbctl shutdown
	expect_equal "$status" 1
}

broker_ends_with_its_lifeline() {
	write_conf '[device "emu:/ok"]'
	mkfifo "$dir/life"
	exec {life_fd}<>"$dir/life"
	exec {only_reader}<"$dir/life"
	exec {writer}>"$dir/life"
	exec {life_fd}<&-
	start_broker --lifeline-fd "$only_reader" {writer}>&-
	hello >/dev/null
	exec {writer}>&-
	wait "$broker"
	[ ! -e "$dir/s" ]
}

# ---- idle ----

switches() {
	cat "/proc/$1"/task/*/status | awk '/ctxt_switches/ { n += $2 } END { print n }'
}

broker_idle_is_never_scheduled() {
	write_conf '[device "emu:/ok"]'
	start_broker
	hold
	gsbctl status >/dev/null
	await_asleep "$broker"
	before=$(switches "$broker")
	sleep 1 # the quiet second itself: what is measured, not a synchronisation
	expect_equal "$(switches "$broker")" "$before"
	stop_broker
}

# ---- gsbctl ----

# wrong MESSAGE ARGUMENT...: what gsbctl says to a wrong command line
wrong() {
	local message=$1
	shift
	status_of gsbctl "$@"
	expect_equal "$status" 2
	expect_match "$output" "^gsbctl$message"
}

gsbctl_wrong_usage_exits_2() {
	wrong ": no command given"
	wrong ": no command 'fly'; there are status, ps, totals, top, events, trace, reload, shutdown" fly
	wrong ": no command 'kill'" kill 3
	wrong ": status takes no argument: what is 'extra'" status extra
	wrong " ps: --drain is not an option of this command; it belongs to: shutdown" ps --drain
	wrong " reload: --json is not an option of this command; it belongs to: status, ps, totals, events" reload --json
	wrong " status: unrecognized option '--nope'" status --nope
}

gsbctl_takes_options_anywhere() {
	write_conf '[device "emu:/ok"]'
	start_broker
	for arguments in "--socket $dir/s --json status" "status --json --socket $dir/s" "--json status --socket=$dir/s"; do
		# shellcheck disable=SC2086 # words
		status_of "$build/tools/gsbctl" $arguments
		expect_equal "$status" 0
		expect_match "$output" '^\{"broker": '
	done
	stop_broker
}

# Every command that prints something says when that did not reach its file.
tools_say_when_standard_output_is_full() {
	local program command
	[ -c /dev/full ] || return 0
	write_conf '[device "emu:/ok"]'
	start_broker
	for command in "tools/gsbctl --socket $dir/s status" "tools/gsbctl --socket $dir/s ps --json" "tools/gsbctl --version" \
		"tools/gsbrun --help" "broker/gsbrokerd --print-config" "broker/gsbrokerd --check-config" "broker/gsbrokerd --version" \
		"broker/gsb-engine --version" "tools/gsb-bench --help"; do
		program=${command%% *}
		status=0
		# shellcheck disable=SC2086 # words
		output=$({ "$build/"$command >/dev/full; } 2>&1) || status=$?
		expect_equal "$command: $status" "$command: 1"
		expect_match "$output" "^${program##*/}: standard output: No space left on device$"
	done
	stop_broker
}

gsbctl_ps_and_json_show_the_tenants() {
	write_conf '[device "emu:/ok"]'
	start_broker
	hold
	expect_match "$(gsbctl ps | tail -1)" "^ *1 +t1 +$client +.* stub +admitted +0 +0 +3 +busy_kernel +2\.50us +7 .* 1\.50ms .* 0$"
	expect_equal "$(json_value "$(gsbctl ps --json)" device_ns)" 1500000
	expect_equal "$(json_value "$(gsbctl ps --json)" running_kernel)" busy_kernel
	expect_match "$(gsbctl status)" "^1 tenant; 1 admitted, 0 refused, 0 engines died, 0 reloads so far"
	expect_equal "$(json_value "$(gsbctl status --json)" version)" "$("$build/tools/gsbctl" --version | cut -d' ' -f2)"
	stop_broker
}

gsbctl_totals_are_of_those_that_left_by_name() {
	local i
	write_conf '[device "emu:/ok"]'
	start_broker
	expect_equal "$(gsbctl totals | wc -l)" 1
	hold --tenant stays
	for i in 1 2 3; do hello --tenant a >/dev/null; done
	hello --tenant b >/dev/null
	for i in 2 3 4 5; do await_log "tenant [2-5] '[ab]' has ended"; done # in whatever order that is noticed
	expect_match "$(gsbctl totals)" "^a +$(id -u) +3 +0 +21 .* 4\.50ms "
	expect_match "$(gsbctl totals)" "^b +$(id -u) +1 +0 +7 .* 1\.50ms "
	expect_equal "$(gsbctl totals --json | grep -o '"tenant"' | wc -l)" 2
	kill -KILL "$(children_of "$broker")"
	await_log "was ended by signal 9"
	expect_match "$(gsbctl totals)" "^stays +$(id -u) +1 +1 +0 "
	stop_broker
}

# Else there would seem to be nobody.
gsbctl_says_that_an_engine_gives_no_answer() {
	write_conf '[device "emu:/ok"]'
	start_broker
	hold
	kill -STOP "$(children_of "$broker")"
	expect_match "$(gsbctl ps | tail -1)" "^and those of an engine of emu:/ok that gives no answer"
	expect_equal "$(json_value "$(gsbctl ps --json)" silent_engines)" 1
	kill -CONT "$(children_of "$broker")"
	expect_match "$(gsbctl ps | tail -1)" " stub "
	expect_equal "$(json_value "$(gsbctl ps --json)" silent_engines)" 0
	stop_broker
}

# What nobody may see of root's tenants, as configured, and when his group is in status_gid.
gsbctl_shows_others_tenants_only_to_whom_it_may() {
	local see
	write_conf 'socket_mode = 0666' '[device "emu:/ok"]'
	start_broker
	hello --tenant secret >/dev/null
	await_log "tenant 1 'secret' has ended"
	hold --tenant secret
	exec {nobodys}< <(as_nobody "$(reachable tests/integ/hello)" "$dir/s" --hold <"$dir/hold")
	clients="$clients $!"
	read -r -t "$LIMIT_S" _ <&"$nobodys"
	see="as_nobody $(reachable tools/gsbctl) --socket $dir/s"
	expect_equal "$($see ps | grep -c ' stub ')" 1
	expect_match "$($see ps)" "^and 1 tenant of other users"
	expect_match "$($see ps --json)" '"hidden_tenants": 1'
	expect_match "$($see status)" "^emu:/ok +- +- +ready .* 1 "
	expect_match "$($see status --json)" '"pid": null, "uid": null'
	expect_match "$($see totals)" "^- +- +1 +0 +7 "
	expect_no_match "$($see status --json) $($see ps) $($see totals --json)" "secret|$client"
	expect_equal "$(gsbctl ps | grep -c ' stub ')" 2
	write_conf 'socket_mode = 0666' '[device "emu:/ok"]' '[admission]' 'status_gid = 65534'
	gsbctl reload
	expect_equal "$($see ps | grep -c ' stub ')" 2
	expect_match "$($see totals)" "^secret +0 +1 "
	expect_match "$($see shutdown 2>&1 || true)" "only root"
	stop_broker
}

run_case broker_check_config_prints_all_errors_and_exits_1
run_case broker_print_config_is_valid_input_that_prints_the_same
run_case broker_wrong_usage_exits_2
run_case engine_wrong_usage_exits_2
run_case broker_takes_device_and_policy_instead_of_a_configuration
run_case broker_absent_is_said_with_the_remedy
run_case broker_second_on_one_socket_is_told_whose_it_is
run_case broker_replaces_the_socket_of_a_killed_one
run_case broker_never_replaces_a_file_that_is_no_socket
run_case broker_without_permission_to_bind_says_so
run_case broker_started_without_standard_descriptors_has_nothing_else_there
run_case broker_whose_lock_cannot_be_written_says_so_and_leaves_none
run_case broker_lives_on_when_its_log_may_not_grow
run_case broker_that_cannot_start_for_a_limit_names_it
run_case broker_gives_engines_stacks_that_its_starter_has_not
run_case broker_without_a_descriptor_for_a_client_fills_no_log
run_case broker_without_permission_to_connect_says_so
if unshare --pid --fork true 2>/dev/null; then
	run_case broker_of_another_pid_namespace_says_so
else
	skip_case broker_of_another_pid_namespace_says_so
fi
run_case broker_refuses_a_wrong_hello_by_name
run_case gsbctl_says_that_an_engine_gives_no_answer
run_case broker_silent_client_is_dropped_and_blocks_nobody
run_case broker_full_of_silent_clients_drops_the_oldest
run_case broker_crowd_of_one_process_drops_its_own
run_case broker_crowd_of_askers_who_do_not_read_is_shed
run_case broker_limits_the_lines_that_one_user_causes
run_case broker_limits_the_lines_of_who_comes_and_goes
run_case broker_refuses_a_barred_uid_until_a_reload_lets_it_in
run_case broker_counts_tenants_against_their_limit
if is_root; then
	run_case broker_gives_another_uid_an_engine_of_its_own
	run_case broker_gives_up_root_for_the_configured_user
	run_case broker_readme_sample_admits_the_group_that_it_names
	run_case broker_reload_that_names_who_may_come_opens_the_socket
	run_case gsbctl_shows_others_tenants_only_to_whom_it_may
	run_case broker_serves_any_number_of_users_and_devices
else
	skip_case broker_readme_sample_admits_the_group_that_it_names
	skip_case broker_reload_that_names_who_may_come_opens_the_socket
	skip_case gsbctl_shows_others_tenants_only_to_whom_it_may
	skip_case broker_serves_any_number_of_users_and_devices
	skip_case broker_gives_another_uid_an_engine_of_its_own
	skip_case broker_gives_up_root_for_the_configured_user
fi
run_case broker_ends_the_tenant_that_a_process_was_before_exec
run_case broker_forgets_an_arrival_whose_process_became_another_program
run_case broker_gives_each_process_an_engine_with_isolation_process
run_case broker_starts_engines_with_clean_environment_and_descriptors
run_case broker_engine_that_fails_is_named_with_its_reason
run_case broker_engine_that_cannot_be_run_stops_the_start
run_case broker_engine_that_hangs_at_start_is_killed
run_case broker_engine_that_does_not_stop_is_killed
run_case broker_engine_that_was_killed_is_started_again
run_case broker_hands_to_the_next_engine_whom_one_has_not_answered
run_case broker_does_not_hand_on_for_ever_who_ends_engines
run_case broker_reads_all_that_an_engine_said_before_it_ended
run_case broker_does_not_take_for_gone_whom_an_engine_has_not_answered
run_case broker_does_not_restart_an_engine_with_orphans_beside_its_successor
run_case broker_starts_who_is_handed_on_as_the_configuration_is_now
run_case broker_hands_on_whom_an_engine_passes
run_case broker_starts_another_engine_when_one_is_full
run_case broker_of_an_engine_for_each_process_hands_on_too
run_case broker_engine_that_refuses_leaves_no_tenant
run_case broker_status_does_not_wait_for_a_mute_engine
run_case broker_finds_out_about_a_lost_goodbye
run_case broker_engine_without_tenants_ends_and_is_forgotten
run_case broker_idle_engine_ends_although_somebody_looks_on
run_case broker_engine_with_a_tenant_is_not_idle
run_case broker_dead_engine_is_forgotten
run_case broker_sells_the_memory_of_a_device_once
run_case broker_gets_back_the_memory_of_an_engine_that_was_killed
run_case broker_does_not_wait_for_an_engine_that_is_deaf_to_a_recall
run_case broker_does_not_wait_for_an_engine_that_ends
run_case broker_reload_changes_limits_of_who_waits_for_an_engine
run_case broker_reload_changes_limits_of_running_tenants
run_case broker_says_which_keys_have_no_effect
run_case broker_bad_reload_changes_nothing
run_case broker_reload_of_what_is_no_plain_file_is_refused
run_case broker_reload_says_what_needs_a_restart
run_case broker_sigterm_leaves_nothing
run_case broker_drain_waits_for_the_last_tenant
run_case broker_ends_with_its_lifeline
run_case broker_idle_is_never_scheduled
run_case gsbctl_wrong_usage_exits_2
run_case gsbctl_takes_options_anywhere
run_case tools_say_when_standard_output_is_full
run_case gsbctl_totals_are_of_those_that_left_by_name
run_case gsbctl_ps_and_json_show_the_tenants
[ "$failures" -eq 0 ]
