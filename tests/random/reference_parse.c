/*
 * reference_parse.c - see reference.h: the text of a program, line by line.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/random/reference.h"

static const char *const words[] = {
#define REF_WORD(w) #w,
	REF_WORDS(REF_WORD)
#undef REF_WORD
};

static const char *const compares[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",	 "equ",
				       "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

/* Declared registers: %r<8> are 8 of 32 bits. */
static struct parser {
	struct ref_program *p;
	struct {
		char prefix[4];
		unsigned int first, n;
	} ranges[16];
	unsigned int n_ranges;
	struct {
		char name[24];
		unsigned int at;
	} labels[512];
	unsigned int n_labels;
	bool ok;
} in;

static void wrong(const char *what, const char *line)
{
	if (in.ok)
		snprintf(in.p->error, sizeof(in.p->error), "%s: %.100s", what, line);
	in.ok = false;
}

static const char *skip(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

/* ".reg .b32 %r<8>;" */
static void parse_registers(const char *s)
{
	char type[8], prefix[4];
	unsigned int n;

	if (sscanf(s, ".reg .%7s %%%3[a-z]<%u>", type, prefix, &n) != 3 || in.n_ranges == 16 ||
	    in.p->n_regs + n > REF_MAX_REGS) {
		wrong("registers", s);
		return;
	}
	memcpy(in.ranges[in.n_ranges].prefix, prefix, sizeof(prefix));
	in.ranges[in.n_ranges].first = in.p->n_regs;
	in.ranges[in.n_ranges++].n = n;
	for (unsigned int i = 0; i < n; i++)
		in.p->bits[in.p->n_regs++] =
			!strcmp(type, "pred") ? 1 : (unsigned int)atoi(type + 1);
}

static unsigned int parse_register(const char **s)
{
	char prefix[4] = "";
	unsigned int n = 0, number;
	const char *at = *s + 1;

	while (islower((unsigned char)*at) && n < 3)
		prefix[n++] = *at++;
	number = (unsigned int)strtoul(at, (char **)(uintptr_t)&at, 10);
	for (unsigned int i = 0; i < in.n_ranges; i++) {
		if (strcmp(in.ranges[i].prefix, prefix) || number >= in.ranges[i].n)
			continue;
		*s = at;
		return in.ranges[i].first + number;
	}
	wrong("no such register", *s);
	return 0;
}

static bool is_special(const char *s)
{
	return !strncmp(s, "%tid", 4) || !strncmp(s, "%ntid", 5) || !strncmp(s, "%ctaid", 6) ||
	       !strncmp(s, "%laneid", 7) || !strncmp(s, "%lanemask", 9);
}

static const char *parse_name(const char *s, char *out, size_t size)
{
	size_t n = 0;

	while (isalnum((unsigned char)*s) || *s == '_' || *s == '%' || *s == '.') {
		if (n + 1 < size)
			out[n++] = *s;
		s++;
	}
	out[n] = 0;
	return s;
}

/* "[%a0+8]", "[sh+8]" */
static const char *parse_address(const char *s, struct ref_operand *o)
{
	o->kind = REF_ADDRESS;
	o->reg = REF_NONE;
	s++;
	if (*s == '%')
		o->reg = parse_register(&s);
	else
		s = parse_name(s, o->name, sizeof(o->name));
	if (*s == '+')
		o->imm = strtoull(s + 1, (char **)(uintptr_t)&s, 0);
	return s + (*s == ']');
}

static const char *parse_vector(const char *s, struct ref_operand *o)
{
	o->kind = REF_VECTOR;
	for (s++; *s && *s != '}'; s++) {
		s = skip(s);
		if (*s == '%' && o->n < REF_MAX_ELEMENTS)
			o->elements[o->n++] = parse_register(&s);
		if (*s == '}')
			break;
	}
	return s + (*s == '}');
}

static const char *parse_operand(const char *s, struct ref_operand *o)
{
	o->reg2 = REF_NONE;
	if (*s == '!') {
		o->negated = true;
		s++;
	}
	if (*s == '[')
		return parse_address(s, o);
	if (*s == '{')
		return parse_vector(s, o);
	if (*s == '-' || isdigit((unsigned char)*s)) {
		o->kind = REF_IMM;
		o->imm = *s == '-' ? (uint64_t)strtoll(s, (char **)(uintptr_t)&s, 0)
				   : strtoull(s, (char **)(uintptr_t)&s, 0);
		return s;
	}
	if (*s == '%' && !is_special(s)) {
		o->kind = REF_REG;
		o->reg = parse_register(&s);
		if (*s == '|') {
			s++;
			o->reg2 = parse_register(&s);
		}
		return s;
	}
	o->kind = *s == '%' ? REF_SPECIAL : REF_LABEL;
	return parse_name(s, o->name, sizeof(o->name));
}

static bool parse_type(const char *word, struct ref_type *t)
{
	if (!strcmp(word, "pred"))
		*t = (struct ref_type){'p', 1};
	else if (strchr("usbf", word[0]) && isdigit((unsigned char)word[1]))
		*t = (struct ref_type){word[0], (unsigned int)atoi(word + 1)};
	else
		return false;
	return true;
}

static bool parse_word(const char *word, struct ref_insn *insn)
{
	struct ref_type t;

	if (parse_type(word, &t)) {
		insn->type[insn->type[0].kind ? 1 : 0] = t;
		return true;
	}
	for (unsigned int i = 0;
	     !strncmp(insn->op, "set", 3) && i < sizeof(compares) / sizeof(*compares); i++) {
		if (strcmp(word, compares[i]))
			continue;
		snprintf(insn->compare, sizeof(insn->compare), "%s", word);
		return true;
	}
	for (unsigned int i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(word, words[i]))
			continue;
		insn->words |= UINT64_C(1) << i;
		return true;
	}
	return false;
}

static const char *parse_opcode(const char *s, struct ref_insn *insn)
{
	char all[64], *save = NULL;
	size_t n = strcspn(s, " ;");

	snprintf(all, sizeof(all), "%.*s", (int)n, s);
	for (char *w = strtok_r(all, ".", &save); w; w = strtok_r(NULL, ".", &save)) {
		if (!insn->op[0])
			snprintf(insn->op, sizeof(insn->op), "%.15s", w);
		else if (!parse_word(w, insn))
			wrong("no such word", s);
	}
	return s + n;
}

static void parse_insn(const char *s)
{
	struct ref_insn *insn = &in.p->insns[in.p->n_insns++];

	if (in.p->n_insns == REF_MAX_INSNS) {
		wrong("too long", s);
		return;
	}
	*insn = (struct ref_insn){.guard = REF_NONE};
	snprintf(insn->text, sizeof(insn->text), "%.127s", s);
	if (*s == '@') {
		insn->guard_negated = *++s == '!';
		s += insn->guard_negated;
		insn->guard = parse_register(&s);
		s = skip(s);
	}
	s = parse_opcode(s, insn);
	for (s = skip(s); *s && *s != ';' && in.ok; s = skip(s)) {
		if (insn->n == REF_MAX_OPERANDS) {
			wrong("too many operands", insn->text);
			return;
		}
		s = skip(parse_operand(s, &insn->at[insn->n++]));
		if (*s == ',')
			s++;
		else if (*s != ';')
			wrong("operand", insn->text);
	}
}

static unsigned int parse_array(const char *s)
{
	const char *bytes = strchr(s, '[');

	return bytes ? (unsigned int)strtoul(bytes + 1, NULL, 10) : 0;
}

static void parse_line(const char *s)
{
	const char *colon = strchr(s, ':');

	if (!strncmp(s, ".reg", 4)) {
		parse_registers(s);
	} else if (!strncmp(s, ".shared", 7)) {
		in.p->shared_bytes = parse_array(s);
	} else if (!strncmp(s, ".local", 6)) {
		in.p->local_bytes = parse_array(s);
	} else if (colon && in.n_labels < 512) {
		parse_name(s, in.labels[in.n_labels].name, sizeof(in.labels[0].name));
		in.labels[in.n_labels++].at = in.p->n_insns;
	} else if (isalpha((unsigned char)*s) || *s == '@') {
		parse_insn(s);
	}
}

static void find_label(struct ref_operand *o)
{
	for (unsigned int i = 0; i < in.n_labels; i++) {
		if (strcmp(in.labels[i].name, o->name))
			continue;
		o->imm = in.labels[i].at;
		return;
	}
	wrong("no such label", o->name);
}

bool ref_parse(const char *text, struct ref_program *program)
{
	char line[256];

	memset(program, 0, sizeof(*program));
	memset(&in, 0, sizeof(in));
	in.p = program;
	in.ok = true;
	while (*text && in.ok) {
		size_t n = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		parse_line(skip(line));
		text += n + (text[n] == '\n');
	}
	for (unsigned int i = 0; i < program->n_insns; i++) {
		struct ref_insn *insn = &program->insns[i];

		if (ref_is(insn, "bra"))
			find_label(&insn->at[0]);
	}
	if (program->shared_bytes > REF_SHARED_BYTES || program->local_bytes > REF_LOCAL_BYTES)
		wrong("too much memory", "");
	return in.ok;
}
