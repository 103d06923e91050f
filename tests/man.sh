#!/usr/bin/env bash
# man.sh - the manual pages are well-formed, and say of each configuration key and each option what the programs do.
# Usage: from the build folder: srcdir=... tests/man.sh
src=${srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
failures=0

check() { # check NAME COMMAND...: passes when it succeeds and prints nothing
	local name=$1 out
	shift
	echo "[ RUN      ] $name"
	if out=$("$@" 2>&1) && [ -z "$out" ]; then
		echo "[       OK ] $name"
	else
		printf '%s\n' "$out"
		echo "[  FAILED  ] $name"
		failures=$((failures + 1))
	fi
}

lint() { # from there it finds the pages that they refer to
	cd "$src/doc/man" && mandoc -Tlint ./*.[0-9] ../../examples/gpu_db/gpu_db.1
}

# Every page of a program says what its exit statuses mean.
exit_statuses() {
	local page
	for page in "$src"/doc/man/*.[18] "$src/examples/gpu_db/gpu_db.1"; do
		grep -q '^\.Sh EXIT STATUS' "$page" || echo "${page##*/} has no EXIT STATUS"
	done
}

# "key default when" of each key, from the one list and from the page.
keys_of_list() {
	sed -nE 's/^GSB_KEY\([A-Z]+, (\w+), [A-Z_]+, .*, "([^"]*)", (NOW|ENGINE|RESTART), .*/\1 \2 \3/p' "$src/broker/config/keys.def" |
		sed -E 's/ (NOW|ENGINE|RESTART)$/ \1/; s/ NOW$/ N/; s/ ENGINE$/ E/; s/ RESTART$/ R/; s/^(\w+)  /\1 empty /'
}

keys_of_page() {
	sed -nE 's/^\.It Ic (\w+) Pq (Cm )?(\S+) , Cm ([NER])$/\1 \3 \4/p' "$src/doc/man/gsbroker.conf.5"
}

keys() {
	[ "$(keys_of_list | wc -l)" -eq "$(grep -c '^GSB_KEY' "$src/broker/config/keys.def")" ] || echo "a key has another form than this check knows"
	diff <(keys_of_list) <(keys_of_page)
}

options() { # options PAGE COMMAND...: what --help of the commands names, the page has, and the other way round
	local page=$1
	shift
	diff <(for command; do $command --help; done | grep -oE -e '--[a-z-]+' | sort -u) \
		<(grep -oE -e '(Fl|,) -[a-z-]+' "$src/$page" | grep -oE -e '-[a-z-]+' | sed 's/^/-/' | sort -u | grep -v '^--$')
}

check man_pages_pass_mandoc_lint lint
check man_page_has_every_configuration_key_with_its_default keys
check man_pages_say_their_exit_statuses exit_statuses
check man_page_has_every_option_of_gsbrokerd options doc/man/gsbrokerd.8 broker/gsbrokerd
check man_page_has_every_option_of_gsb_engine options doc/man/gsb-engine.8 broker/gsb-engine
check man_page_has_every_option_of_gsbrun options doc/man/gsbrun.1 tools/gsbrun
check man_page_has_every_option_of_gsbctl options doc/man/gsbctl.1 tools/gsbctl
check man_page_has_every_option_of_gsb_model options doc/man/gsb-model.1 tools/gsb-model
check man_page_has_every_option_of_gsb_emu options doc/man/gsb-emu.1 tools/gsb-emu
check man_page_has_every_option_of_gsb_ptx options doc/man/gsb-ptx.1 tools/ptx/gsb-ptx
check man_page_has_every_option_of_gsb_trace options doc/man/gsb-trace.1 tools/trace/gsb-trace
check man_page_has_every_option_of_gsb_bench options doc/man/gsb-bench.1 tools/gsb-bench \
	"tools/gsb-bench transport" "tools/gsb-bench threads" "tools/gsb-bench memory" "tools/gsb-bench model" "tools/gsb-bench emu" \
	"tools/gsb-bench compare" "tools/gsb-bench device"
check man_page_has_every_option_of_gpu_db options examples/gpu_db/gpu_db.1 examples/gpu_db/gpu_db
[ "$failures" -eq 0 ]
