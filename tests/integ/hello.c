/*
 * hello.c - a client that says one hello, right or wrong, and prints what comes back. For the tests
 * of gsbrokerd's door.
 *
 *   hello SOCKET [--tenant NAME] [--program NAME] [--magic HEX] [--major N] [--minor N] [--size N] [--type N]
 *                [--silent] [--crowd N] [--askers N] [--fd] [--hold] [--exec N] [--hasty] [--words]
 *
 * Prints "welcome TENANT-ID DEVICE-NAME", "refused ERRNO REASON", or "end" (end of file). --silent
 * sends nothing; --crowd makes N more connections, which send nothing; --askers makes
 * N that ask for the totals, as gsbctl does, and never read; --fd sends a descriptor that
 * nobody asked for; --hold then stays until its standard input ends; --exec becomes the same program
 * again, N times, which says hello each time, with --hasty before there is an answer; --words prints "starting" as often as that
 * is said before it. Exits 0 after an
 * answer, 1 when there is no connection.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "broker/supervisor/query.h"
#include "shm/channel.h"

struct settings {
	int silent, fd, hold, crowd, askers, execs, hasty, words;
	unsigned long size;
};

static const struct option options[] = {
	{"tenant", required_argument, NULL, 't'}, {"program", required_argument, NULL, 'p'},
	{"magic", required_argument, NULL, 'm'},  {"major", required_argument, NULL, 'M'},
	{"minor", required_argument, NULL, 'n'},  {"size", required_argument, NULL, 's'},
	{"type", required_argument, NULL, 'T'},	  {"silent", no_argument, NULL, 'S'},
	{"fd", no_argument, NULL, 'f'},		  {"hold", no_argument, NULL, 'h'},
	{"crowd", required_argument, NULL, 'c'},  {"askers", required_argument, NULL, 'a'},
	{"exec", required_argument, NULL, 'e'},	  {"hasty", no_argument, NULL, 'H'},
	{"words", no_argument, NULL, 'w'},	  {0},
};

/* A name of the full size has no NUL: that is one of the wrong hellos. */
static void copy_name(char to[GSB_TENANT_NAME_MAX], const char *from)
{
	memcpy(to, from, strnlen(from, GSB_TENANT_NAME_MAX));
}

static void parse(int argc, char **argv, struct gsb_msg_hello *h, struct settings *s)
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 't': copy_name(h->tenant, optarg); break;
		case 'p':
			memset(h->program, 0, sizeof(h->program)), copy_name(h->program, optarg);
			break;
		case 'm': h->msg.magic = strtoull(optarg, NULL, 16); break;
		case 'M': h->msg.major = (uint16_t)atoi(optarg); break;
		case 'n': h->msg.minor = (uint16_t)atoi(optarg); break;
		case 's': s->size = strtoul(optarg, NULL, 10); break;
		case 'T': h->msg.type = (uint16_t)atoi(optarg); break;
		case 'S': s->silent = 1; break;
		case 'f': s->fd = 1; break;
		case 'h': s->hold = 1; break;
		case 'H': s->hasty = 1; break;
		case 'w': s->words = 1; break;
		case 'c': s->crowd = atoi(optarg); break;
		case 'a': s->askers = atoi(optarg); break;
		case 'e':
			s->execs = atoi(optarg);
			snprintf(optarg, strlen(optarg) + 1, "%d", s->execs - 1);
			break;
		default: exit(2);
		}
}

/* Past the words that its engine is starting. */
static ssize_t receive(int fd, void *buf, const struct settings *s)
{
	const struct gsb_msg *m = buf;
	int fds[GSB_CHANNEL_FDS_MAX];
	ssize_t n;

	for (;;) {
		unsigned n_fds = GSB_CHANNEL_FDS_MAX;

		n = gsb_channel_recv(fd, buf, GSB_CHANNEL_MSG_MAX, fds, &n_fds);
		if (n <= 0 || m->type != GSB_MSG_STARTING)
			return n;
		if (s->words)
			puts("starting");
		fflush(stdout);
	}
}

static void print_answer(int fd, const struct settings *s)
{
	static _Alignas(16) char buf[GSB_CHANNEL_MSG_MAX];
	const struct gsb_msg *m = (const struct gsb_msg *)buf;
	ssize_t n = receive(fd, buf, s);

	if (n == 0)
		puts("end");
	else if (n < 0)
		printf("error %s\n", strerror((int)-n));
	else if (m->type == GSB_MSG_WELCOME)
		printf("welcome %u %s\n", ((const struct gsb_msg_welcome *)m)->tenant_id,
		       ((const struct gsb_msg_welcome *)m)->device.name);
	else if (m->type == GSB_MSG_REFUSED)
		printf("refused %d %s\n", ((const struct gsb_msg_refused *)m)->error,
		       ((const struct gsb_msg_refused *)m)->reason);
	else
		printf("message %u\n", m->type);
	fflush(stdout);
}

/* The header says one size and the socket carries it, whatever a hello should have. */
static int send_hello(int fd, struct gsb_msg_hello *h, const struct settings *s)
{
	static _Alignas(16) char room[GSB_CHANNEL_MSG_MAX];
	int out = STDOUT_FILENO;

	memcpy(room, h, sizeof(*h));
	((struct gsb_msg *)room)->size = (uint32_t)s->size;
	return gsb_channel_send(fd, (struct gsb_msg *)room, &out, s->fd ? 1 : 0);
}

static int ask_and_forget(const char *path)
{
	struct gsb_query q = {.what = GSB_QUERY_TOTALS};
	int fd, err = gsb_channel_connect(path, &fd);

	gsb_msg_init(&q.msg, GSB_MSG_CONTROL, sizeof(q));
	return err ? err : gsb_channel_send(fd, &q.msg, NULL, 0);
}

int main(int argc, char **argv)
{
	struct gsb_msg_hello h = {
		.features_wanted = GSB_FEATURE_STAGING | GSB_FEATURE_HOST_WINDOW,
		.pid = (uint32_t)getpid(),
		.program = "hello",
	};
	struct settings s = {.size = sizeof(h)};
	char byte;
	int fd, err;

	gsb_msg_init(&h.msg, GSB_MSG_HELLO, sizeof(h));
	parse(argc, argv, &h, &s);
	if (optind != argc - 1 || s.size > GSB_CHANNEL_MSG_MAX)
		return 2;
	err = gsb_channel_connect(argv[optind], &fd);
	for (int other; !err && s.crowd; s.crowd--)
		err = gsb_channel_connect(argv[optind], &other);
	for (; !err && s.askers; s.askers--)
		err = ask_and_forget(argv[optind]);
	if (!err && !s.silent)
		err = send_hello(fd, &h, &s);
	if (err) {
		printf("no connection: %s\n", strerror(-err));
		return 1;
	}
	if (!s.hasty || !s.execs)
		print_answer(fd, &s);
	if (s.execs)
		execv("/proc/self/exe", argv);
	while (s.hold && read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
