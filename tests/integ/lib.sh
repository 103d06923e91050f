# lib.sh - what the shell tests of gsbrokerd, gsbctl and gsbrun share. Sourced, never run.
#
# A case is a function; run_case runs it in a subshell with a folder of its own, $dir, and prints
# cmocka's lines. A case fails when a command in it fails (set -e) or by `fail`. Nothing waits for a
# time: brokers say when they are ready, log lines and ends of processes are waited for, with a limit
# that only a broken run reaches. After each case its processes, sockets and shared memory are gone,
# or it has failed. GSB_CASES names the cases to run; all are without it.
# shellcheck shell=bash
# shellcheck disable=SC2034 # status, output, answer: for those who source this

build=$PWD
failures=0
LIMIT_S=60

fail() {
	echo "    $*" >&2
	exit 1
}

# expect_match TEXT PATTERN: an extended regular expression that must occur in TEXT.
expect_match() {
	grep -qE -e "$2" <<<"$1" || fail "expected '$2' in: $1"
}

expect_no_match() {
	! grep -qE -e "$2" <<<"$1" || fail "did not expect '$2' in: $1"
}

expect_equal() {
	[ "$1" = "$2" ] || fail "expected '$2', got '$1'"
}

# status_of COMMAND...: run it, put its exit status into $status and all its output into $output.
status_of() {
	status=0
	output=$("$@" 2>&1) || status=$?
}

# Write $dir/conf: a [broker] section with the stub engine and the lines of the arguments after it.
write_conf() {
	{
		echo '[broker]'
		echo "engine = $(reachable tests/integ/stub_engine)"
		printf '%s\n' "$@"
	} >"$dir/conf"
}

# start_broker [ARGUMENT...]: gsbrokerd with $dir/conf on $dir/s; returns when it listens.
# Its log is a pipe that await_log reads; $broker is its process.
start_broker() {
	local ready
	rm -f "$dir/ready" "$dir/log-pipe"
	mkfifo "$dir/ready" "$dir/log-pipe"
	"$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 "$@" \
		2>"$dir/log-pipe" 9>"$dir/ready" </dev/null & # a pipe opens when both ends do: in this order
	broker=$!
	exec {log_fd}<"$dir/log-pipe"
	read -r ready <"$dir/ready" || fail "gsbrokerd did not start: $(cat <&"$log_fd")"
	expect_equal "$ready" ready
}

# await_log PATTERN: read log lines until one matches; it is in $line. All lines go to $dir/log.
await_log() {
	while IFS= read -r -t "$LIMIT_S" line <&"$log_fd"; do
		echo "$line" >>"$dir/log"
		if grep -qE -e "$1" <<<"$line"; then return; fi
	done
	fail "the log ended without '$1': $(cat "$dir/log" 2>/dev/null)"
}

# The rest of the log of a broker that has ended.
rest_of_log() {
	cat <&"$log_fd" >>"$dir/log"
	cat "$dir/log"
}

# await_end PID: until a process that need not be our child is gone.
await_end() {
	timeout "$LIMIT_S" tail --pid="$1" -s 0.02 -f /dev/null || fail "process $1 does not end"
}

# await_asleep PID...: until all threads of these sleep. What woke one is not dealt with before: that a client has ended, say, whose
# descriptor gsbrokerd closes then.
await_asleep() {
	local pid i
	for pid; do
		for i in $(seq 3000); do
			grep -qE '^State:[[:space:]]+[^S[:space:]]' "/proc/$pid/task/"*/status || continue 2
		done
		fail "process $pid does not fall asleep: $(head -n 3 "/proc/$pid/task/"*/status)"
	done
}

# The processes that a process started, separated by blanks.
children_of() {
	[ ! -e "/proc/$1/task/$1/children" ] || xargs <"/proc/$1/task/$1/children"
}

# stop_broker: SIGTERM; it must exit 0 and take its engines, its socket and its lock with it.
stop_broker() {
	local engines engine
	engines=$(children_of "$broker")
	kill -TERM "$broker"
	wait "$broker" || fail "gsbrokerd ended with status $?"
	for engine in $engines; do
		[ ! -d "/proc/$engine" ] || fail "engine $engine outlived gsbrokerd"
	done
	[ ! -e "$dir/s" ] || fail "the socket is left"
	[ ! -e "$dir/s.pid" ] || fail "the lock is left"
}

# hello [OPTION...]: one hello to the broker; its answer on standard output.
hello() {
	timeout "$LIMIT_S" "$build/tests/integ/hello" "$dir/s" "$@"
}

# await_status PATTERN: ask for the status again and again until it matches; each question is an answered message.
await_status() {
	local i
	for i in $(seq 5000); do
		if grep -qE -e "$1" <<<"$(gsbctl status --json)"; then return; fi
	done
	fail "the status never said '$1' in $i answers: $(gsbctl status --json)"
}

# hold [OPTION...]: a client that stays; its answer is in $answer, its process in $client.
hold() {
	[ -p "$dir/hold" ] || mkfifo "$dir/hold"
	[ -n "${hold_fd-}" ] || exec {hold_fd}<>"$dir/hold"
	exec {answer_fd}< <(exec "$build/tests/integ/hello" "$dir/s" --hold "$@" <"$dir/hold")
	client=$!
	clients="${clients-} $client"
	IFS= read -r -t "$LIMIT_S" answer <&"$answer_fd" || fail "no answer to a held hello"
}

gsbctl() {
	"$build/tools/gsbctl" --socket "$dir/s" "$@"
}

# A value out of one line of JSON: json_value TEXT KEY (the first one of that name).
json_value() {
	sed -nE "s/.*[{ ]\"$2\": (\"([^\"]*)\"|([-0-9]+)).*/\2\3/p" <<<"$(sed -E "s/(\"$2\": [^,}]*).*/\1/" <<<"$1")"
}

is_root() {
	[ "$(id -u)" -eq 0 ]
}

# reachable PROGRAM: a copy in $dir, for another user: the build folder may be closed to others.
reachable() {
	install -m 0755 "$build/$1" "$dir/copy-of-${1##*/}"
	echo "$dir/copy-of-${1##*/}"
}

# as_nobody COMMAND...: as another user; only root can.
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# Processes that a failed case left: only those of its own. A job may be a subshell around the process meant.
clean_up() {
	local pid
	for pid in ${clients-} $(jobs -p); do
		# shellcheck disable=SC2046 # a list
		kill -KILL "$pid" $(children_of "$pid") 2>/dev/null || true
	done
}

# Processes that name the folder of a case in their arguments or environment and do not end: the case left them.
expect_no_processes() {
	local file pid left=0
	while read -r file; do
		pid=${file#/proc/}
		pid=${pid%%/*}
		timeout 10 tail --pid="$pid" -s 0.02 -f /dev/null && continue
		echo "    process $pid is left: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
		kill -KILL "$pid"
		left=1
	done < <(grep -lsF -e "$dir" /proc/[0-9]*/cmdline /proc/[0-9]*/environ)
	return "$left"
}

is_wanted() { # is_wanted CASE
	[ -z "${GSB_CASES-}" ] || [[ " $GSB_CASES " == *" $1 "* ]]
}

run_case() {
	local name=$1 status
	is_wanted "$name" || return 0
	echo "[ RUN      ] $name"
	dir=$(mktemp -d) # short: a socket's address holds 107 characters
	chmod 0711 "$dir"
	(
		set -eu
		trap clean_up EXIT
		"$name"
	) # not in a condition: there set -e would do nothing
	status=$?
	expect_no_processes || status=1
	if compgen -G '/dev/shm/*gsb*' >/dev/null; then
		echo "    shared memory is left in /dev/shm"
		status=1
	fi
	if [ "$status" -eq 0 ]; then
		echo "[       OK ] $name"
	else
		cat "$dir/log" 2>/dev/null
		echo "[  FAILED  ] $name"
		failures=$((failures + 1))
	fi
	rm -rf "$dir"
}

skip_case() {
	! is_wanted "$1" || echo "[  SKIPPED ] $1"
}

# le BYTES NUMBER: in little-endian order
le() {
	local i
	for ((i = 0; i < $1; i++)); do
		# shellcheck disable=SC2059 # the format is the byte
		printf "\\x$(printf '%02x' $(($2 >> (8 * i) & 255)))"
	done
}

# fatbin_of FILE: a fatbin with the PTX of a file, for sm_75; with no PTX at all when the file is empty
fatbin_of() {
	local size
	size=$(wc -c <"$1")
	printf '\x50\xed\x55\xba\x01\x00\x10\x00'
	le 8 $((size ? size + 65 : 0))
	[ "$size" -gt 0 ] || return 0
	le 2 1
	le 2 257
	le 4 64
	le 8 $((size + 1))
	le 12 0
	le 4 75
	le 32 0
	cat "$1"
	le 1 0
}
