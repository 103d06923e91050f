/*
 * mps.c - see mps.h.
 *
 * CUDA looks for a daemon in a folder (CUDA_MPS_PIPE_DIRECTORY), and goes without where there is none: no engine is started before
 * its daemon has answered. The daemon stays in the foreground, a child like an engine, in a process group of its own with its
 * servers.
 */
#include "broker/supervisor/mps.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/mps.h"
#include "broker/supervisor/child.h"
#include "broker/supervisor/mps_command.h"
#include "shm/channel.h"

#define TOPIC	     "mps"
#define ASK_AGAIN_MS 20
#define START_NS     10000000000ull
#define STOP_MS	     5000

/* ---- the end ---- */

static void destroy(struct gsb_mps_daemon *d)
{
	struct gsb_mps_daemons *m = d->all;

	gsb_timer_clear(&m->s->loop, &d->timer);
	gsb_mps_command_cancel(d->command);
	DL_DELETE(m->list, d);
	free(d);
	if (!m->list)
		m->on_empty(m);
}

static void on_quit(void *arg, const char *said)
{
	struct gsb_mps_daemon *d = arg;

	d->command = NULL; /* whether it was told so or not, it ends or is late */
}

static void quit(struct gsb_mps_daemon *d)
{
	struct gsb_loop *l = &d->all->s->loop;

	gsb_mps_command_cancel(d->command);
	d->command = NULL;
	d->state = GSB_MPS_STOPPING;
	gsb_mps_command_start(l, d->env, "quit\n", on_quit, d, &d->command);
	gsb_timer_set(l, &d->timer, STOP_MS);
}

static void set_idle(struct gsb_mps_daemon *d)
{
	const struct gsb_supervisor *s = d->all->s;
	uint64_t ms = s->config->broker.idle_timeout_ms;

	if (s->stopping)
		quit(d);
	else if (ms)
		gsb_timer_set(&d->all->s->loop, &d->timer, ms);
}

void gsb_mps_release(struct gsb_mps_daemon *d)
{
	if (--d->n_users)
		return;
	if (d->state == GSB_MPS_DEAD)
		destroy(d);
	else if (d->state == GSB_MPS_READY)
		set_idle(d);
}

static void kill_all_of(const struct gsb_mps_daemon *d)
{
	kill(-d->pid, SIGKILL); /* not reaped yet, so the number is still its own */
}

/* ---- the beginning ---- */

/* Those that wait for it are released in on_failed(), and it must outlive that. */
static void fail(struct gsb_mps_daemon *d, const char *why)
{
	gsb_log(GSB_LOG_ERROR, TOPIC, "%s", why);
	d->state = GSB_MPS_DEAD;
	d->n_users++;
	d->all->on_failed(d->all, d, why);
	gsb_mps_release(d);
}

static void on_answer(void *arg, const char *said)
{
	struct gsb_mps_daemon *d = arg;
	struct gsb_loop *l = &d->all->s->loop;

	d->command = NULL;
	if (!said) {
		gsb_timer_set(l, &d->timer, ASK_AGAIN_MS);
		return;
	}
	d->state = GSB_MPS_READY;
	gsb_log(GSB_LOG_INFO, TOPIC, "the MPS daemon of %s for uid %u (pid %d) is ready", d->spec,
		d->uid, (int)d->pid);
	d->all->on_ready(d->all, d);
	if (!d->n_users)
		set_idle(d);
}

static void ask(struct gsb_mps_daemon *d)
{
	struct gsb_loop *l = &d->all->s->loop;

	if (gsb_clock_ns() - d->begun_ns > START_NS) {
		gsb_log(GSB_LOG_ERROR, TOPIC,
			"the MPS daemon of %s for uid %u (pid %d) does not answer: it is killed",
			d->spec, d->uid, (int)d->pid);
		kill_all_of(d);
	} else if (gsb_mps_command_start(l, d->env, "get_server_list\n", on_answer, d,
					 &d->command)) {
		gsb_timer_set(l, &d->timer, ASK_AGAIN_MS);
	}
}

static int spawn(struct gsb_mps_daemon *d)
{
	char name[] = GSB_MPS_PROGRAM, foreground[] = "-f";
	char *argv[] = {name, foreground, NULL};
	int log = gsb_mps_folder_open_log(d->folder), err;
	const struct gsb_child child = {
		.program = GSB_MPS_PROGRAM,
		.argv = argv,
		.env = d->env,
		.fds = {-1, log, log, -1},
		.apart = true,
	};

	if (log < 0)
		return log;
	err = gsb_child_start(&child, &d->pid);
	close(log);
	return err;
}

static int watch(struct gsb_mps_daemon *d)
{
	int fd, err = gsb_pidfd_open(d->pid, &fd);

	if (err)
		return err;
	err = gsb_loop_watch_start(&d->all->s->loop, &d->process, fd, EPOLLIN);
	if (err)
		close(fd);
	return err;
}

static int launch(struct gsb_mps_daemon *d, char why[GSB_REASON_MAX])
{
	int err = spawn(d);

	if (!err) {
		err = watch(d);
		if (err) {
			kill_all_of(d);
			waitpid(d->pid, NULL, 0);
		}
	}
	if (err) {
		snprintf(
			why, GSB_REASON_MAX,
			"MPS: " GSB_MPS_PROGRAM
			" cannot be run: %s: it comes with NVIDIA's driver and must be in gsbrokerd's PATH, "
			"or set isolation = process",
			strerror(-err));
		return err;
	}
	d->state = GSB_MPS_STARTING;
	d->begun_ns = gsb_clock_ns();
	gsb_log(GSB_LOG_INFO, TOPIC, "an MPS daemon of %s for uid %u was started: pid %d, in %s",
		d->spec, d->uid, (int)d->pid, d->folder);
	ask(d);
	return 0;
}

static void on_cleared(void *arg, const char *said)
{
	struct gsb_mps_daemon *d = arg;
	char why[GSB_REASON_MAX];

	d->command = NULL;
	if (said)
		gsb_log(GSB_LOG_WARN, TOPIC, "an MPS daemon that was left in %s was ended",
			d->folder);
	if (launch(d, why))
		fail(d, why);
}

/* A gsbrokerd that was killed may have left a daemon, which would answer for the new one. */
static int begin(struct gsb_mps_daemon *d, char why[GSB_REASON_MAX])
{
	int err = gsb_mps_folder_make(d->all->s->socket, d->folder);

	if (err) {
		snprintf(
			why, GSB_REASON_MAX,
			"MPS: no folder %.107s of gsbrokerd's own, mode 0700: %.30s: remove what is "
			"there, or give another [broker] socket",
			d->folder, strerror(-err));
		return err;
	}
	if (!gsb_mps_folder_is_used(d->folder))
		return launch(d, why);
	d->state = GSB_MPS_CLEARING;
	if (gsb_mps_command_start(&d->all->s->loop, d->env, "quit\n", on_cleared, d, &d->command))
		return launch(d, why);
	return 0;
}

/* ---- what happens ---- */

static void on_time(struct gsb_timer *t)
{
	struct gsb_mps_daemon *d = gsb_container_of(t, struct gsb_mps_daemon, timer);

	if (d->state == GSB_MPS_STARTING) {
		ask(d);
	} else if (d->state == GSB_MPS_READY) {
		gsb_log(GSB_LOG_INFO, TOPIC,
			"the MPS daemon of %s for uid %u has had no engine for long: it ends",
			d->spec, d->uid);
		quit(d);
	} else {
		gsb_log(GSB_LOG_WARN, TOPIC,
			"the MPS daemon of %s for uid %u (pid %d) did not stop in time: it is killed",
			d->spec, d->uid, (int)d->pid);
		kill_all_of(d);
	}
}

static void on_unasked_end(struct gsb_mps_daemon *d, const char *how)
{
	char why[GSB_REASON_MAX], words[100];

	gsb_mps_folder_last_words(d->folder, words, sizeof(words));
	snprintf(why, sizeof(why), "MPS: the MPS daemon of %.40s for uid %u %.40s%s%s", d->spec,
		 d->uid, how, *words ? ": " : "", words);
	if (d->state == GSB_MPS_STARTING) {
		fail(d, why);
		return;
	}
	gsb_log(GSB_LOG_ERROR, TOPIC, "%s; the next engine gets another", why);
	d->state = GSB_MPS_DEAD;
	if (!d->n_users)
		destroy(d);
}

/* It may be wanted again already. */
static void on_asked_end(struct gsb_mps_daemon *d, const char *how)
{
	char why[GSB_REASON_MAX];

	gsb_log(GSB_LOG_INFO, TOPIC, "the MPS daemon of %s for uid %u (pid %d) %s", d->spec, d->uid,
		(int)d->pid, how);
	d->state = GSB_MPS_DEAD;
	if (!d->n_users)
		destroy(d);
	else if (begin(d, why))
		fail(d, why);
}

static void on_process(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_mps_daemon *d = gsb_container_of(w, struct gsb_mps_daemon, process);
	struct gsb_loop *l = &d->all->s->loop;
	siginfo_t info = {0};
	int fd = w->fd;
	char how[80];

	if (waitid(P_PID, (id_t)d->pid, &info, WEXITED | WNOHANG) < 0 || !info.si_pid)
		return;
	gsb_child_describe_end(&info, how, sizeof(how));
	gsb_loop_watch_stop(l, w);
	close(fd);
	gsb_timer_clear(l, &d->timer);
	gsb_mps_command_cancel(d->command);
	d->command = NULL;
	if (d->state == GSB_MPS_STOPPING)
		on_asked_end(d, how);
	else
		on_unasked_end(d, how);
}

/* ---- daemons ---- */

static struct gsb_mps_daemon *find(const struct gsb_mps_daemons *m, const char *spec, uid_t uid)
{
	struct gsb_mps_daemon *d;

	DL_FOREACH (m->list, d)
		if (d->uid == uid && !strcmp(d->spec, spec))
			return d;
	return NULL;
}

static int create(struct gsb_mps_daemons *m, const char *spec, uid_t uid,
		  struct gsb_mps_daemon **out, char why[GSB_REASON_MAX])
{
	struct gsb_mps_daemon *d = calloc(1, sizeof(*d));
	int err = d ? gsb_mps_folder_name(m->s->socket, spec, uid, d->folder) : -ENOMEM;

	if (err) {
		snprintf(
			why, GSB_REASON_MAX,
			"MPS: no folder for a daemon beside %.107s: %s: give a shorter [broker] socket",
			m->s->socket, strerror(-err));
		free(d);
		return err;
	}
	d->all = m;
	d->uid = uid;
	d->process = (struct gsb_loop_watch){.fd = -1, .on_ready = on_process};
	d->timer.on_time = on_time;
	snprintf(d->spec, sizeof(d->spec), "%s", spec);
	snprintf(d->pipe_env, sizeof(d->pipe_env), "CUDA_MPS_PIPE_DIRECTORY=%s", d->folder);
	snprintf(d->log_env, sizeof(d->log_env), "CUDA_MPS_LOG_DIRECTORY=%s", d->folder);
	d->env[0] = d->pipe_env;
	d->env[1] = d->log_env;
	DL_APPEND(m->list, d);
	*out = d;
	return 0;
}

int gsb_mps_want(struct gsb_mps_daemons *m, const char *spec, uid_t uid,
		 struct gsb_mps_daemon **out, char why[GSB_REASON_MAX])
{
	struct gsb_mps_daemon *d = find(m, spec, uid);
	int err = d ? 0 : create(m, spec, uid, &d, why);

	if (err)
		return err;
	d->n_users++;
	if (d->state == GSB_MPS_READY)
		gsb_timer_clear(&m->s->loop, &d->timer);
	else if (d->state == GSB_MPS_DEAD)
		err = begin(d, why);
	if (err)
		gsb_mps_release(d);
	else
		*out = d;
	return err;
}

bool gsb_mps_daemons_stop(struct gsb_mps_daemons *m)
{
	struct gsb_mps_daemon *d, *next;

	DL_FOREACH_SAFE (m->list, d, next) {
		if (d->n_users)
			continue;
		if (d->state == GSB_MPS_READY || d->state == GSB_MPS_STARTING)
			quit(d);
		else if (d->state != GSB_MPS_STOPPING)
			destroy(d);
	}
	return !m->list;
}

/* ---- parting ---- */

static void on_parted(void *arg, const char *said)
{
	struct gsb_mps_parting *p = arg;

	p->command = NULL;
	if (!said)
		gsb_log(GSB_LOG_WARN, TOPIC,
			"the MPS daemon of %s for uid %u does not part with client %d: its neighbours may be told of its end",
			p->d->spec, p->d->uid, (int)p->client);
	p->on_done(p);
}

static void on_servers(void *arg, const char *said)
{
	struct gsb_mps_parting *p = arg;
	char text[GSB_MPS_TEXT_SIZE];

	p->command = NULL;
	gsb_mps_terminations(said ? said : "", p->client, text, sizeof(text));
	if (!*text ||
	    gsb_mps_command_start(&p->d->all->s->loop, p->d->env, text, on_parted, p, &p->command))
		on_parted(p, NULL);
}

void gsb_mps_part(struct gsb_mps_parting *p)
{
	if (gsb_mps_command_start(&p->d->all->s->loop, p->d->env, "get_server_list\n", on_servers,
				  p, &p->command))
		on_parted(p, NULL);
}

void gsb_mps_part_cancel(struct gsb_mps_parting *p)
{
	gsb_mps_command_cancel(p->command);
	p->command = NULL;
}
