#!/usr/bin/env bash
# gpu_db at the command line, as far as it goes without a GPU: the data set is a function of scale and
# seed, and every wrong use ends with exit status 2 and one line that names what is wrong.
set -u
gpu_db=$PWD/examples/gpu_db/gpu_db
fakes=$PWD/tests/gpu_db
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
cd "$work" || exit 1

# result NAME STATUS
result() {
	if [ "$2" = 0 ]; then
		echo "[       OK ] $1"
	else
		echo "[  FAILED  ] $1"
		failed=1
	fi
}

# refuses TEXT ARGUMENT...: exit status 2, nothing on stdout, one line on stderr that holds TEXT
refuses() {
	local text=$1 status
	shift
	"$gpu_db" "$@" >out 2>err
	status=$?
	if [ $status != 2 ] || [ -s out ] || [ "$(wc -l <err)" != 1 ] || ! grep -qF -- "$text" err; then
		echo "gpu_db $*: status $status, expected 2 and '$text', got:"
		cat out err
		return 1
	fi
}

test_gen_is_deterministic() {
	"$gpu_db" gen --data one --scale 1/512 --seed 3 >one.txt || return 1
	"$gpu_db" gen --data two --scale 0.001953125 --seed 3 >two.txt || return 1
	"$gpu_db" gen --data other --scale 1/512 --seed 4 --quiet >/dev/null || return 1
	diff -r one two || return 1
	[ "$(find one -name '*.col' | wc -l)" = 11 ] || return 1
	! cmp -s one/r_key.col other/r_key.col
}

test_help_is_on_stdout() {
	"$gpu_db" --help 2>err | grep -q '^usage: gpu_db gen' && [ ! -s err ] || return 1
	"$gpu_db" help 2>err | grep -q '^Exit status' && [ ! -s err ] || return 1
	"$gpu_db" run --help 2>err | grep -q '^Exit status' && [ ! -s err ]
}

test_options_stand_anywhere() {
	"$gpu_db" --scale 1/512 --data early gen --seed 3 --quiet >/dev/null || return 1
	diff -r one early
}

test_version_is_said() {
	"$gpu_db" --version | grep -qE '^gpu_db [0-9.]+$' && "$gpu_db" run --version | grep -qE '^gpu_db [0-9.]+$'
}

test_full_disk_is_said() {
	local arguments
	[ -c /dev/full ] || return 0
	for arguments in "--help" "--version" "gen --data full --scale 1/1024"; do
		# shellcheck disable=SC2086 # words
		"$gpu_db" $arguments >/dev/full 2>err
		[ $? = 2 ] && grep -qx 'gpu_db: standard output: No space left on device' err || return 1
	done
}

test_usage_errors() {
	refuses '--query: no such option' --query q1 gen --data x || return 1
	refuses 'gen, run or counter?' || return 1
	refuses 'frob: gen, run or counter' frob || return 1
	refuses '--data DIR is missing' gen || return 1
	refuses '--query is missing' run --data one || return 1
	refuses '--query q9: q1' run --data one --query q9 || return 1
	refuses '--seed: no such option' run --data one --seed 1 || return 1
	refuses '--repeat: needs a value' run --data one --repeat || return 1
	refuses '--repeat 0: not a whole number' run --data one --repeat 0 || return 1
	refuses '--repeat 3x: not a whole number' run --data one --repeat 3x || return 1
	refuses '--streams 17: not a whole number from 1 to 16' run --data one --streams 17 || return 1
	refuses '--scale 0: not a number or a fraction' gen --data x --scale 0 || return 1
	refuses '--scale 1/0: not a number' gen --data x --scale 1/0 || return 1
	refuses '--scale nan: not a number' gen --data x --scale nan || return 1
	refuses '--seed -1: not a whole number' gen --data x --seed -1 || return 1
	refuses '--loop 0: not a number of seconds' run --data one --query q1 --loop 0 || return 1
	refuses '--image elf: ptx or fatbin' run --data one --image elf || return 1
	refuses 'one or the other' run --data one --query q1 --loop 1 --repeat 2 || return 1
	refuses 'extra: not an option' gen --data x extra || return 1
	refuses '--batch 1025: not a whole number' counter --batch 1025
}

test_data_errors() {
	refuses 'none/r_key.col: no such file: make it with gpu_db gen' run --query q1 --data none || return 1
	refuses 'cannot make the folder' gen --data no/such/parent || return 1
	cp other/r_val.col one/
	refuses 'one/r_val.col: of another data set' run --query q1 --data one || return 1
	printf x | dd of=two/text.col bs=1 seek=5000 conv=notrunc 2>/dev/null
	refuses 'two/text.col: damaged' run --query q3 --data two || return 1
	truncate -s 100 two/a.col
	refuses 'two/a.col: 100 bytes, its header says' run --query q4 --data two
}

# With a driver that gives no device, one that fails, one that is too old, and none at all.
test_driver_errors() {
	export LD_LIBRARY_PATH=$fakes/fake
	refuses 'the driver sees no device' run --query q1 --data other || return 1
	FAKE_CUDA=cuInit refuses 'cuInit failed: unknown error (2: no description), starting the driver' \
		run --query q1 --data other || return 1
	FAKE_CUDA=cuCtxCreate_v2 refuses 'cuCtxCreate_v2 failed' counter || return 1
	LD_LIBRARY_PATH=$fakes/fake_old refuses 'libcuda.so.1 has no cuLaunchHostFunc' counter
}

test_gen_is_deterministic
result test_gpu_db_gen_is_deterministic $?
test_help_is_on_stdout
result test_gpu_db_help_is_on_stdout $?
test_options_stand_anywhere
result test_gpu_db_options_stand_anywhere $?
test_version_is_said
result test_gpu_db_version_is_said $?
test_full_disk_is_said
result test_gpu_db_full_disk_is_said $?
test_usage_errors
result test_gpu_db_usage_errors $?
test_data_errors
result test_gpu_db_data_errors $?
test_driver_errors
result test_gpu_db_driver_errors $?

name=test_gpu_db_no_driver_is_said
unset LD_LIBRARY_PATH
if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
	echo "[  SKIPPED ] $name (a driver is installed)"
else
	refuses 'no CUDA driver here' run --query q1 --data other
	result $name $?
fi
exit $failed
