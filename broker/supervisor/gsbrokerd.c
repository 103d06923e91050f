/*
 * gsbrokerd.c - the supervisor's beginning, its signals and its end.
 *
 * gsbrokerd reads the configuration, listens, decides who may come in, and starts an engine
 * (gsb-engine) for each device and trust domain, to which it hands the clients. It never touches a
 * device and never waits: one thread sleeps until a descriptor or a time calls it. When it ends,
 * however it ends, its engines see the end of file on their control sockets and end too.
 *
 * It stays in the foreground; a service manager hears of its state by $NOTIFY_SOCKET, gsbrun and
 * tests by --ready-fd.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "broker/supervisor/client.h"
#include "broker/supervisor/engines.h"
#include "broker/supervisor/listen.h"
#include "broker/supervisor/paths.h"
#include "broker/supervisor/service.h"
#include "broker/supervisor/survey.h"

#define TOPIC	       "supervisor"
#define DEFAULT_CONFIG GSB_SYSCONFDIR "/gsbroker.conf"

/* The whole of it. */
struct gsbrokerd {
	struct gsb_supervisor shared;
	struct gsb_listener listener;
	struct gsb_clients clients;
	struct gsb_survey survey;
	struct gsb_engines engines;
	struct gsb_loop_watch signals, lifeline;
	const char *config_path; /* NULL: defaults */
};

struct arguments {
	const char *config, *socket, *private_dir;
	bool check_config, print_config;
	int ready_fd, lifeline_fd; /* -1 = none */
};

/* ---- configuration ---- */

static void report_to_stderr(void *ctx, const char *line)
{
	fprintf(stderr, "%s\n", line);
}

/* Reports of a reload: to the log, and joined for gsbctl. */
struct reload_reports {
	char *text;
	size_t used, size;
};

static void report_reload(void *ctx, const char *line)
{
	struct reload_reports *r = ctx;
	int n;

	gsb_log(GSB_LOG_WARN, TOPIC, "reload: %s", line);
	n = snprintf(r->text + r->used, r->size - r->used, "%s%s", r->used ? "\n" : "", line);
	r->used = n < 0 || r->used + (size_t)n >= r->size ? r->size - 1 : r->used + (size_t)n;
}

static int load_config(const char *path, struct gsb_config **out)
{
	if (!path) {
		*out = gsb_config_create();
		return *out ? 0 : -ENOMEM;
	}
	if (!strcmp(path, "-"))
		return gsb_config_read(stdin, "standard input", report_to_stderr, NULL, out);
	return gsb_config_load(path, report_to_stderr, NULL, out);
}

/* Read the configuration again. Return 0, or -errno with the reports in text. */
static int reload(struct gsbrokerd *d, char *text, size_t size)
{
	struct gsb_supervisor *s = &d->shared;
	struct reload_reports r = {.text = text, .size = size};
	struct gsb_config *next;
	int err;

	*text = 0;
	if (!d->config_path || !strcmp(d->config_path, "-")) {
		report_reload(&r, "there is no configuration file to read again");
		return -ENOENT;
	}
	err = gsb_config_load(d->config_path, report_reload, &r, &next);
	if (err) {
		gsb_log(GSB_LOG_ERROR, TOPIC, "%s was refused: the configuration stays as it was",
			d->config_path);
		return err;
	}
	gsb_config_reload(s->config, next, report_reload, &r);
	free(s->config);
	s->config = next;
	s->n_reloads++;
	gsb_log_init("gsbrokerd", (enum gsb_log_level)next->broker.log);
	gsb_log(GSB_LOG_INFO, TOPIC, "%s was read again", d->config_path);
	gsb_listener_reload(&d->listener);
	gsb_engines_relimit(&d->engines);
	return 0;
}

/* ---- shutdown ---- */

static void stop(struct gsbrokerd *d, enum gsb_shutdown_how how)
{
	if (!d->shared.stopping)
		gsb_notify("STOPPING=1");
	d->shared.stopping = true;
	if (how == GSB_SHUTDOWN_NOW)
		gsb_listener_stop(&d->listener); /* while draining gsbctl can still ask */
	gsb_clients_refuse_all(&d->clients, -ESHUTDOWN,
			       "gsbrokerd is shutting down: start it again");
	gsb_engines_stop(&d->engines, how);
}

/* ---- signals, lifeline ---- */

static void on_signal(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsbrokerd *d = gsb_container_of(w, struct gsbrokerd, signals);
	struct signalfd_siginfo info;
	char text[512];

	if (read(w->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP) {
		reload(d, text, sizeof(text));
		return;
	}
	gsb_log(GSB_LOG_INFO, TOPIC, "ending on %s", strsignal((int)info.ssi_signo));
	stop(d, GSB_SHUTDOWN_NOW);
}

/* Whoever started us with --lifeline-fd is gone. */
static void on_lifeline(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsbrokerd *d = gsb_container_of(w, struct gsbrokerd, lifeline);
	char byte;

	if (read(w->fd, &byte, 1) > 0)
		return;
	gsb_loop_watch_stop(&d->shared.loop, w);
	gsb_log(GSB_LOG_INFO, TOPIC, "ending with the program that started us");
	stop(d, GSB_SHUTDOWN_NOW);
}

static int watch_signals(struct gsbrokerd *d)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	d->signals.on_ready = on_signal;
	return gsb_loop_watch_start(&d->shared.loop, &d->signals, fd, EPOLLIN);
}

static int watch_lifeline(struct gsbrokerd *d, int fd)
{
	if (fd < 0)
		return 0;
	d->lifeline.on_ready = on_lifeline;
	return gsb_loop_watch_start(&d->shared.loop, &d->lifeline, fd, EPOLLIN);
}

/* ---- start and end ---- */

static void prepare_process(void)
{
	struct rlimit files;

	umask(022);
	/* What our own starter left open must not reach an engine. */
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

static void tell_ready(const struct gsb_supervisor *s, int fd)
{
	gsb_notify("READY=1");
	gsb_log(GSB_LOG_INFO, TOPIC, "listening on %s", s->socket);
	if (fd < 0)
		return;
	if (write(fd, "ready\n", 6) < 0)
		gsb_log(GSB_LOG_WARN, TOPIC, "--ready-fd %d: %m", fd);
	close(fd);
}

/* ---- wiring ---- */

static void on_connection(struct gsb_listener *l, int fd)
{
	gsb_clients_add(&gsb_container_of(l, struct gsbrokerd, listener)->clients, fd);
}

static bool make_room(struct gsb_listener *l)
{
	return gsb_clients_shed(&gsb_container_of(l, struct gsbrokerd, listener)->clients);
}

static int on_reload(struct gsb_survey *v, char *text, size_t size)
{
	return reload(gsb_container_of(v, struct gsbrokerd, survey), text, size);
}

static void on_stop(struct gsb_survey *v, enum gsb_shutdown_how how)
{
	stop(gsb_container_of(v, struct gsbrokerd, survey), how);
}

static void wire(struct gsbrokerd *d, struct gsb_config *config)
{
	struct gsb_supervisor *s = &d->shared;

	s->config = config;
	s->start_ns = gsb_clock_ns();
	d->signals.fd = d->lifeline.fd = -1;
	gsb_engines_init(&d->engines, s);
	gsb_survey_init(&d->survey, s, &d->engines);
	d->survey.reload = on_reload;
	d->survey.stop = on_stop;
	d->clients = (struct gsb_clients){.s = s, .engines = &d->engines, .survey = &d->survey};
	gsb_listener_init(&d->listener, s);
	d->listener.on_connection = on_connection;
	d->listener.make_room = make_room;
}

static int serve(struct gsbrokerd *d, const struct arguments *a)
{
	struct gsb_supervisor *s = &d->shared;
	int err = gsb_loop_init(&s->loop);

	if (err)
		return err;
	err = watch_signals(d);
	if (!err)
		err = watch_lifeline(d, a->lifeline_fd);
	if (err) {
		gsb_log(GSB_LOG_ERROR, TOPIC, "cannot start: %s", strerror(-err));
		goto out;
	}
	err = gsb_listener_start(&d->listener);
	if (err)
		goto out;
	err = gsb_privileges_drop(s->config->broker.user, &s->uid);
	if (!err) {
		tell_ready(s, a->ready_fd);
		err = gsb_loop_run(&s->loop);
	}
	gsb_clients_finish(&d->clients);
	gsb_survey_finish(&d->survey);
	gsb_listener_stop(&d->listener);
	gsb_log(GSB_LOG_INFO, TOPIC, "ended");
out:
	gsb_loop_finish(&s->loop);
	return err;
}

static int find_paths(struct gsbrokerd *d, const struct arguments *a)
{
	struct gsb_supervisor *s = &d->shared;
	int err;

	if (!a->private_dir) {
		err = gsb_paths_find_socket(s, a->socket);
	} else {
		err = gsb_paths_use_private(s, a->private_dir);
		snprintf(d->listener.private_dir, sizeof(d->listener.private_dir), "%s",
			 err ? "" : a->private_dir);
	}
	return err ? err : gsb_paths_find_engine(s);
}

static int run(const struct arguments *a, struct gsb_config *config)
{
	static struct gsbrokerd d;
	int err;

	gsb_log_init("gsbrokerd", (enum gsb_log_level)config->broker.log);
	prepare_process();
	gsb_log_never_wait();
	wire(&d, config);
	d.config_path = a->config;
	err = find_paths(&d, a);
	if (!err)
		err = serve(&d, a);
	free(d.shared.config);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- arguments ---- */

static const char usage_text[] =
	"usage: gsbrokerd [--config FILE] [--socket PATH]\n"
	"       gsbrokerd [--config FILE] --check-config | --print-config\n"
	"\n"
	"  --config FILE      configuration (default " DEFAULT_CONFIG "; - reads standard input)\n"
	"  --check-config     report every error of it and exit\n"
	"  --print-config     print it with all defaults, as valid input, and exit\n"
	"  --socket PATH      listen there, whatever the configuration says\n"
	"  --private DIR      listen on DIR/socket and remove DIR at the end (gsbrun)\n"
	"  --ready-fd N       write a line to N when listening, then close it\n"
	"  --lifeline-fd N    end when N reaches its end of file\n"
	"  --version, --help\n"
	"\n"
	"SIGHUP reads the configuration again, SIGTERM ends. See gsbrokerd(8), gsbroker.conf(5).\n";

enum {
	OPT_CONFIG = 256,
	OPT_CHECK,
	OPT_PRINT,
	OPT_SOCKET,
	OPT_PRIVATE,
	OPT_READY,
	OPT_LIFELINE,
	OPT_VERSION,
	OPT_HELP
};

static const struct option options[] = {
	{"config", required_argument, NULL, OPT_CONFIG},
	{"check-config", no_argument, NULL, OPT_CHECK},
	{"print-config", no_argument, NULL, OPT_PRINT},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"private", required_argument, NULL, OPT_PRIVATE},
	{"ready-fd", required_argument, NULL, OPT_READY},
	{"lifeline-fd", required_argument, NULL, OPT_LIFELINE},
	{"version", no_argument, NULL, OPT_VERSION},
	{"help", no_argument, NULL, OPT_HELP},
	{0},
};

static int descriptor(const char *text, const char *option)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end || n < 0 || n > INT_MAX || fcntl((int)n, F_GETFD) < 0) {
		fprintf(stderr, "gsbrokerd: %s %s: must be the number of an open descriptor\n",
			option, text);
		exit(2);
	}
	return (int)n;
}

static void parse_arguments(int argc, char **argv, struct arguments *a)
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case OPT_CONFIG: a->config = optarg; break;
		case OPT_CHECK: a->check_config = true; break;
		case OPT_PRINT: a->print_config = true; break;
		case OPT_SOCKET: a->socket = optarg; break;
		case OPT_PRIVATE: a->private_dir = optarg; break;
		case OPT_READY: a->ready_fd = descriptor(optarg, "--ready-fd"); break;
		case OPT_LIFELINE: a->lifeline_fd = descriptor(optarg, "--lifeline-fd"); break;
		case OPT_VERSION: puts("gsbrokerd " PACKAGE_VERSION); exit(0);
		case OPT_HELP: fputs(usage_text, stdout); exit(0);
		default: fputs(usage_text, stderr); exit(2);
		}
	if (optind < argc) {
		fprintf(stderr, "gsbrokerd: '%s' is no option\n%s", argv[optind], usage_text);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct arguments a = {.ready_fd = -1, .lifeline_fd = -1};
	struct gsb_config *config;

	parse_arguments(argc, argv, &a);
	if (!a.config && access(DEFAULT_CONFIG, F_OK) == 0)
		a.config = DEFAULT_CONFIG;
	if (load_config(a.config, &config))
		return EXIT_FAILURE;
	if (!a.check_config && !a.print_config)
		return run(&a, config);
	if (a.print_config)
		gsb_config_print(config, stdout);
	else
		printf("%s: OK\n", a.config ? a.config : "built-in defaults");
	free(config);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
