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
#include "base/program.h"
#include "broker/supervisor/arguments.h"
#include "broker/supervisor/client.h"
#include "broker/supervisor/engines.h"
#include "broker/supervisor/listen.h"
#include "broker/supervisor/metrics.h"
#include "broker/supervisor/paths.h"
#include "broker/supervisor/service.h"
#include "broker/supervisor/survey.h"

#define TOPIC "supervisor"
/* Of an engine; not unlimited, which changes where all else lies. */
#define STACK_BYTES	 (8u << 20)
#define CONFIG_BYTES_MAX (1 << 20)

/* The whole of it. */
struct gsbrokerd {
	struct gsb_supervisor shared;
	struct gsb_listener listener;
	struct gsb_clients clients;
	struct gsb_survey survey;
	struct gsb_engines engines;
	struct gsb_metrics metrics;
	struct gsb_loop_watch signals, lifeline;
	const char *config_path; /* NULL: defaults */
};

/* ---- configuration ---- */

static void report_to_stderr(void *ctx, const char *line)
{
	fprintf(stderr, "%s\n", line);
}

static void remark_to_stderr(void *ctx, const char *line)
{
	fprintf(stderr, "gsbrokerd: warn: config: %s\n", line);
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

static int say(const char *option, const char *value, const char *why)
{
	fprintf(stderr, "gsbrokerd: %s %s: %s\n", option, value, why);
	return -EINVAL;
}

/* What stands on the command line instead of a configuration. */
static int use_arguments(const struct gsb_arguments *a, struct gsb_config *c)
{
	char why[GSB_CONFIG_WHY_MAX];

	if (a->policy && gsb_config_use(c, "policy", a->policy, why))
		return say("--policy", a->policy, why);
	if (a->gate && gsb_config_use(c, "start_line", a->gate, why))
		return say("--gate", a->gate, why);
	if (a->device && gsb_config_use_device(c, a->device, why))
		return say("--device", a->device, why);
	return 0;
}

static int load_config(const struct gsb_arguments *a, struct gsb_config **out)
{
	int err;

	if (a->config && !strcmp(a->config, "-"))
		return gsb_config_read(stdin, "standard input", report_to_stderr, NULL, out);
	if (a->config)
		return gsb_config_load(a->config, report_to_stderr, NULL, out);
	*out = gsb_config_create();
	if (!*out)
		return -ENOMEM;
	err = use_arguments(a, *out);
	if (err)
		free(*out);
	return err;
}

/* NULL: it may be read. Whom a file keeps waiting, all wait for. */
static const char *why_not_again(const char *path)
{
	struct stat st;

	if (stat(path, &st) || S_ISDIR(st.st_mode))
		return NULL; /* is said by who opens it */
	if (!S_ISREG(st.st_mode))
		return "is no plain file: it would be waited for; make it one";
	return st.st_size > CONFIG_BYTES_MAX ? "is larger than 1 MiB: make it smaller" : NULL;
}

static int read_again(const char *path, struct reload_reports *r, struct gsb_config **next)
{
	const char *why = why_not_again(path);
	char line[PATH_MAX + 128];

	if (!why)
		return gsb_config_load(path, report_reload, r, next);
	snprintf(line, sizeof(line), "%s: %s", path, why);
	report_reload(r, line);
	return -EINVAL;
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
	err = read_again(d->config_path, &r, &next);
	if (err) {
		gsb_log(GSB_LOG_ERROR, TOPIC, "%s was refused: the configuration stays as it was",
			d->config_path);
		return err;
	}
	gsb_config_reload(s->config, next, report_reload, &r);
	gsb_config_unheeded(next, report_reload, &r);
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
	signal(SIGXFSZ, SIG_IGN); /* a log that may not grow loses lines, and ends nobody */
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

/* What an engine reserves is far more than it uses; shared memory is a file to the system. */
static void warn_of_limits(void)
{
	static const struct {
		int resource;
		char option;
		rlim_t enough;
		const char *what;
	} limits[] = {{RLIMIT_FSIZE, 'f', RLIM_INFINITY, "a file or shared memory"},
		      {RLIMIT_AS, 'v', RLIM_INFINITY, "addresses"},
		      {RLIMIT_DATA, 'd', RLIM_INFINITY, "data"},
		      {RLIMIT_STACK, 's', STACK_BYTES, "stack"}};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(limits); i++) {
		struct rlimit l;

		if (!getrlimit(limits[i].resource, &l) && l.rlim_cur < limits[i].enough)
			gsb_log(GSB_LOG_WARN, TOPIC,
				"engines may have %llu bytes of %s: programs may be refused, or fail; start "
				"gsbrokerd with a higher ulimit -%c",
				(unsigned long long)l.rlim_cur, limits[i].what, limits[i].option);
	}
}

/* As far as the system lets us. */
static void raise_limit(int resource, rlim_t enough)
{
	struct rlimit l;

	if (getrlimit(resource, &l) || l.rlim_cur >= enough)
		return;
	l.rlim_cur = l.rlim_max < enough ? l.rlim_max : enough;
	setrlimit(resource, &l);
}

static void prepare_process(void)
{
	umask(022);
	/* What our own starter left open must not reach an engine. */
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	raise_limit(RLIMIT_NOFILE, RLIM_INFINITY);
	raise_limit(RLIMIT_STACK, STACK_BYTES);
	warn_of_limits();
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
	struct gsbrokerd *d = gsb_container_of(l, struct gsbrokerd, listener);

	return gsb_clients_shed(&d->clients) || gsb_survey_shed(&d->survey);
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
	gsb_metrics_init(&d->metrics, s, &d->engines);
	d->survey.reload = on_reload;
	d->survey.stop = on_stop;
	d->clients = (struct gsb_clients){.s = s, .engines = &d->engines, .survey = &d->survey};
	gsb_listener_init(&d->listener, s);
	d->listener.on_connection = on_connection;
	d->listener.make_room = make_room;
}

static int say_no_start(int err)
{
	const char *remedy = "";

	if (err == -EMFILE)
		remedy = ": start gsbrokerd with a higher ulimit -n";
	else if (err == -EAGAIN) /* a timer counts as a signal */
		remedy = ": start gsbrokerd with a higher ulimit -i";
	gsb_log(GSB_LOG_ERROR, TOPIC, "cannot start: %s%s", strerror(-err), remedy);
	return err;
}

static int serve(struct gsbrokerd *d, const struct gsb_arguments *a)
{
	struct gsb_supervisor *s = &d->shared;
	int err = gsb_loop_init(&s->loop);

	if (err)
		return say_no_start(err);
	err = watch_signals(d);
	if (!err)
		err = watch_lifeline(d, a->lifeline_fd);
	if (err) {
		say_no_start(err);
		goto out;
	}
	err = gsb_listener_start(&d->listener);
	if (err)
		goto out;
	err = gsb_metrics_start(&d->metrics);
	if (!err)
		err = gsb_privileges_drop(s->config->broker.user, &s->uid);
	if (!err) {
		tell_ready(s, a->ready_fd);
		err = gsb_loop_run(&s->loop);
	}
	gsb_clients_finish(&d->clients);
	gsb_survey_finish(&d->survey);
	gsb_metrics_stop(&d->metrics);
	gsb_engines_finish(&d->engines);
	gsb_listener_stop(&d->listener);
	gsb_log(GSB_LOG_INFO, TOPIC, "ended");
out:
	gsb_loop_finish(&s->loop);
	return err;
}

static int find_paths(struct gsbrokerd *d, const struct gsb_arguments *a)
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

static int run(const struct gsb_arguments *a, struct gsb_config *config)
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

/* Whoever runs one program on a broker of its own wants to read that program. */
static void make_private(struct gsb_config *config)
{
	config->broker.socket_mode = 0600;
	if (config->broker.log > GSB_LOG_WARN)
		config->broker.log = GSB_LOG_WARN;
}

static int check(const struct gsb_arguments *a, struct gsb_config *config)
{
	if (a->print_config)
		gsb_config_print(config, stdout);
	else
		printf("%s: OK\n", a->config ? a->config : "built-in defaults");
	free(config);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct gsb_arguments a;
	struct gsb_config *config;

	gsb_program_init("gsbrokerd", argv);
	gsb_arguments_parse(argc, argv, &a);
	if (!a.config && !a.device && !a.policy && !a.gate && !a.private_dir &&
	    access(GSB_DEFAULT_CONFIG, F_OK) == 0)
		a.config = GSB_DEFAULT_CONFIG;
	if (load_config(&a, &config))
		return EXIT_FAILURE;
	gsb_config_unheeded(config, remark_to_stderr, NULL);
	if (a.check_config || a.print_config)
		return check(&a, config);
	if (a.private_dir)
		make_private(config);
	return run(&a, config);
}
