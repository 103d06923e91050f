/*
 * connect.c - cuInit: the hello, once in the life of a process.
 *
 * Nothing here runs before the program's first cuInit: no thread, no socket, no mapping. What can go wrong is
 * somebody's first contact with the project, so each failure says what is missing and what to do about it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "interpose/core/fault.h"
#include "interpose/core/object.h"
#include "interpose/core/probe.h"
#include "interpose/core/process.h"
#include "interpose/core/thread.h"
#include "interpose/cu/array.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/event.h"
#include "interpose/cu/exec.h"
#include "interpose/cu/graph.h"
#include "interpose/cu/library.h"
#include "interpose/cu/link.h"
#include "interpose/cu/module.h"
#include "interpose/cu/pool.h"
#include "interpose/cu/pageable.h"
#include "interpose/cu/stream.h"
#include "interpose/cu/view.h"
#include "interpose/hooks/hooks.h"
#include "interpose/watch.h"
#include "shm/channel.h"
#include "shm/region.h"

static pthread_mutex_t connect_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_tried; /* connect_lock; a forked child inherits it with the parent's result */
static CUresult tried_result;

/* What came with the welcome, until it is in gsb_proc. */
struct welcome {
	struct gsb_msg_welcome msg;
	int fds[GSB_CHANNEL_FDS_MAX];
	unsigned n_fds;
};

/* Before main, so that a message about the very first call is right too. Reads one variable, no more. */
__attribute__((constructor)) static void init_log(void)
{
	gsb_log_init("gsbroker", GSB_LOG_ERROR);
}

static void close_fds(struct welcome *w)
{
	for (unsigned i = 0; i < w->n_fds; i++)
		close(w->fds[i]);
	w->n_fds = 0;
}

/* A service that was stopped, or is busy beyond reason, must not stop the program as well. */
#define TIMEOUT_MS 10000

static uint64_t timeout_ms(void)
{
	const char *text = secure_getenv("GSB_CONNECT_TIMEOUT_MS");
	unsigned long ms;
	char *end;

	if (!text)
		return TIMEOUT_MS;
	errno = 0;
	ms = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && ms && ms <= UINT32_MAX)
		return ms;
	gsb_log(GSB_LOG_ERROR, "connect",
		"GSB_CONNECT_TIMEOUT_MS=%s is no number of milliseconds from 1 to %u: %d is used",
		text, UINT32_MAX, TIMEOUT_MS);
	return TIMEOUT_MS;
}

static CUresult say_no_answer(void)
{
	gsb_log(GSB_LOG_ERROR, "connect",
		"the broker gives no answer: it is stopped, or very busy; see its log, "
		"or set GSB_CONNECT_TIMEOUT_MS for more than %d to wait longer",
		TIMEOUT_MS);
	return CUDA_ERROR_SYSTEM_NOT_READY;
}

static bool is_limited(int resource)
{
	struct rlimit l;

	return !getrlimit(resource, &l) && l.rlim_cur != RLIM_INFINITY;
}

/* What to do where a limit of this process is in the way; "": none is. */
static const char *limit_remedy(int err)
{
	if (err == -EMFILE)
		return ": close descriptors, or start this program with a higher ulimit -n";
	if (err == -ENOMEM && is_limited(RLIMIT_AS))
		return ": start this program with a higher ulimit -v";
	if (err == -ENOMEM && is_limited(RLIMIT_DATA))
		return ": start this program with a higher ulimit -d";
	return "";
}

static CUresult say_no_broker(const char *path, int err)
{
	if (err == -ETIMEDOUT)
		return say_no_answer();
	if (*limit_remedy(err))
		gsb_log(GSB_LOG_ERROR, "connect", "cannot reach the broker at %s: %s%s", path,
			strerror(-err), limit_remedy(err));
	else if (err == -EPERM || err == -EAFNOSUPPORT)
		gsb_log(GSB_LOG_ERROR, "connect",
			"this process may not use sockets (%s), and so no broker at %s: have its seccomp "
			"filter, or RestrictAddressFamilies of its service, allow AF_UNIX",
			strerror(-err), path);
	else if (err == -EACCES)
		gsb_log(GSB_LOG_ERROR, "connect",
			"no permission to use the broker at %s: ask its administrator to admit user %u",
			path, (unsigned)geteuid());
	else
		gsb_log(GSB_LOG_ERROR, "connect",
			"no broker answers at %s (%s): start one with \"gsbrokerd\", or run this "
			"program with \"gsbrun -- PROGRAM\"",
			path, strerror(-err));
	return CUDA_ERROR_SYSTEM_NOT_READY;
}

static CUresult say_no_hello(ssize_t err)
{
	if (err == -ETIMEDOUT)
		return say_no_answer();
	if (err == -EPROTONOSUPPORT)
		gsb_log(GSB_LOG_ERROR, "connect",
			"the broker speaks another version than this library (%d.%d): install the same "
			"release of both",
			GSB_WIRE_MAJOR, GSB_WIRE_MINOR);
	else
		gsb_log(GSB_LOG_ERROR, "connect", "the broker did not take us in: %s%s",
			err ? strerror((int)-err) : "it hung up; its log says why",
			limit_remedy((int)err));
	return err == -EPROTONOSUPPORT || err == -EPROTO ? CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
							 : CUDA_ERROR_SYSTEM_NOT_READY;
}

static void copy_name(char *to, const char *from, size_t n)
{
	strncpy(to, from ? from : "", n);
}

static int send_hello(int fd)
{
	struct gsb_msg_hello hello = {0};

	gsb_msg_init(&hello.msg, GSB_MSG_HELLO, sizeof(hello));
	hello.features_wanted = GSB_FEATURES_KNOWN;
	hello.pid = (uint32_t)getpid();
	/* A name that is too long fills its room without an end, and is refused: cut, it would be another's. */
	copy_name(hello.tenant, secure_getenv("GSB_TENANT"), GSB_TENANT_NAME_MAX);
	copy_name(hello.program, program_invocation_short_name, GSB_TENANT_NAME_MAX - 1);
	return gsb_channel_send(fd, &hello.msg, NULL, 0);
}

static CUresult check_welcome(const struct welcome *w, ssize_t n)
{
	const struct gsb_msg_refused *refused = (const void *)&w->msg;

	if (w->msg.msg.type == GSB_MSG_REFUSED && (size_t)n >= sizeof(*refused)) {
		gsb_log(GSB_LOG_ERROR, "connect", "the broker refused this process: %.*s",
			(int)sizeof(refused->reason), refused->reason);
		return gsb_cuda_result(refused->error < 0 ? refused->error : -EPERM);
	}
	if (w->msg.msg.type != GSB_MSG_WELCOME || (size_t)n != sizeof(w->msg))
		return say_no_hello(-EPROTO);
	if (w->msg.features & ~GSB_FEATURES_KNOWN || !(w->msg.features & GSB_FEATURE_STAGING)) {
		gsb_log(GSB_LOG_ERROR, "connect",
			"the broker wants features 0x%llx, this library knows 0x%llx: install the same "
			"release of both",
			(unsigned long long)w->msg.features, GSB_FEATURES_KNOWN);
		return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	}
	if (w->n_fds != 4u + !!(w->msg.features & GSB_FEATURE_HOST_WINDOW) ||
	    w->msg.slot >= GSB_N_SLOTS)
		return say_no_hello(-EPROTO);
	return CUDA_SUCCESS;
}

/* As gsb_channel_recv(), into w. */
static ssize_t receive(int fd, uint64_t deadline_ns, struct welcome *w)
{
	ssize_t n = gsb_channel_await(fd, deadline_ns);

	w->n_fds = GSB_CHANNEL_FDS_MAX;
	if (!n)
		n = gsb_channel_recv(fd, &w->msg, sizeof(w->msg), w->fds, &w->n_fds);
	if (n <= 0)
		w->n_fds = 0;
	return n;
}

/* An engine may take long to start. The broker says so meanwhile, and says how it ends: only its silence is too long. */
static ssize_t receive_welcome(int fd, uint64_t deadline_ns, struct welcome *w)
{
	ssize_t n = receive(fd, deadline_ns, w);

	while (n == sizeof(struct gsb_msg) && w->msg.msg.type == GSB_MSG_STARTING && !w->n_fds)
		n = receive(fd, gsb_clock_ns() + timeout_ms() * 1000000, w);
	return n;
}

static CUresult exchange_hello(struct welcome *w)
{
	uint64_t deadline_ns = gsb_clock_ns() + timeout_ms() * 1000000;
	char path[108];
	ssize_t n;
	CUresult result;
	int fd, r = gsb_channel_path(NULL, path, sizeof(path));

	if (!r)
		r = gsb_channel_connect_until(path, deadline_ns, &fd);
	if (r)
		return say_no_broker(path, r);
	r = send_hello(fd);
	gsb_fault_point(GSB_FAULT_HELLO);
	n = r ? r : receive_welcome(fd, deadline_ns, w);
	result = n <= 0 ? say_no_hello(n) : check_welcome(w, n);
	if (result) {
		close_fds(w);
		close(fd);
		return result;
	}
	gsb_proc.socket = fd;
	return CUDA_SUCCESS;
}

static int map_staging(int fd, uint64_t bytes)
{
	void *p = NULL;
	int r = gsb_memfd_check(fd, bytes);

	if (!r)
		r = gsb_memfd_map(fd, bytes, &p);
	if (r)
		return r;
	madvise(p, bytes, MADV_DONTFORK);
	gsb_proc.staging = p;
	gsb_proc.staging_bytes = bytes;
	return 0;
}

/* Something sits at the window's address: pinned memory is then not to be had, the rest works. */
static void map_host_window(int fd, const struct gsb_msg_welcome *m)
{
	uint64_t base = gsb_host_window_base(m->slot);
	int r = m->host_window_bytes > GSB_HOST_WINDOW_STRIDE / 2
			? -EPROTO
			: gsb_memfd_check(fd, m->host_window_bytes);

	if (!r)
		r = gsb_window_map(fd, base, m->host_window_bytes);
	if (r) {
		gsb_log(GSB_LOG_ERROR, "connect",
			"cannot map pinned memory at 0x%llx (%s): cuMemHostAlloc will fail%s",
			(unsigned long long)base, strerror(-r), limit_remedy(r));
		return;
	}
	gsb_views_of(fd, base, m->host_window_bytes);
	gsb_proc.host_base = base;
	gsb_proc.host_bytes = m->host_window_bytes;
}

/* Numbers of device pointers must never come out of malloc. */
static void block_device_window(const struct gsb_msg_welcome *m)
{
	gsb_proc.device_base = gsb_device_window_base(m->slot);
	gsb_proc.device_bytes = GSB_DEVICE_WINDOW_SIZE;
	if (gsb_window_block(gsb_proc.device_base, gsb_proc.device_bytes))
		gsb_log(GSB_LOG_WARN, "connect",
			"addresses from 0x%llx are in use here: a host pointer may equal a device "
			"pointer",
			(unsigned long long)gsb_proc.device_base);
}

static int make_tables(void)
{
	struct gsb_object_table *const tables[] = {
		&gsb_cu_ctxs,	   &gsb_cu_streams,	 &gsb_cu_events, &gsb_cu_modules,
		&gsb_cu_functions, &gsb_cu_libraries,	 &gsb_cu_links,	 &gsb_cu_arrays,
		&gsb_cu_textures,  &gsb_cu_mipmaps,	 &gsb_cu_graphs, &gsb_cu_nodes,
		&gsb_cu_execs,	   &gsb_cu_user_objects, &gsb_cu_pools};
	int r = 0;

	for (unsigned i = 0; !r && i < GSB_ARRAY_LEN(tables); i++)
		r = gsb_object_table_reserve(tables[i]);
	if (!r)
		gsb_cu_ctx_init();
	if (!r && gsb_cu_pool_init())
		r = -ENOMEM;
	return r;
}

/* What stays open for the life of the process; the program may close it without knowing. */
static int keep_descriptors(int *event_fd, int *pidfd)
{
	int r = gsb_keep_init(&gsb_proc.keep);

	if (!r)
		r = gsb_keep_add(&gsb_proc.keep, &gsb_proc.socket);
	if (!r)
		r = gsb_keep_add(&gsb_proc.keep, event_fd);
	if (!r)
		r = gsb_keep_add(&gsb_proc.keep, pidfd);
	return r;
}

/* Consumes the descriptors, whatever happens. */
static int adopt(struct welcome *w)
{
	bool has_window = w->msg.features & GSB_FEATURE_HOST_WINDOW;
	int *fds = w->fds, *event_fd = &fds[2 + has_window], *pidfd = &fds[3 + has_window];
	int r = gsb_region_attach(fds[0], &gsb_proc.region);

	if (!r)
		r = map_staging(fds[1], w->msg.staging_bytes);
	if (!r)
		r = make_tables();
	if (!r)
		r = keep_descriptors(event_fd, pidfd);
	if (r) {
		close_fds(w);
		return r;
	}
	madvise(gsb_proc.region, sizeof(*gsb_proc.region), MADV_DONTFORK);
	if (has_window)
		map_host_window(fds[2], &w->msg);
	block_device_window(&w->msg);
	gsb_ring_producer_init(&gsb_proc.ring, gsb_proc.region, *event_fd, &gsb_proc.keep);
	gsb_proc.engine_pidfd = *pidfd;
	for (int i = 0; i < 2 + has_window; i++)
		close(fds[i]);
	return 0;
}

/* One for each processor that it may use, and one processor for the engine, wherever that runs. */
static uint32_t n_spinners(void)
{
	long n_online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t mine;
	long n = sched_getaffinity(getpid(), sizeof(mine), &mine) ? n_online : CPU_COUNT(&mine);

	if (n > n_online - 1)
		n = n_online - 1;
	return n > 0 ? (uint32_t)n : 0;
}

static void adopt_device(const struct gsb_msg_welcome *m)
{
	gsb_proc.device = m->device;
	gsb_proc.device.name[sizeof(m->device.name) - 1] = 0;
	gsb_proc.image_max_bytes = m->image_max_bytes;
	gsb_proc.may_keep = m->features & GSB_FEATURE_KEEP;
	gsb_proc.spins = !m->device.clock_is_virtual && m->spin_ns;
	gsb_proc.spin = (struct gsb_spin_room){
		.spin_ns = m->spin_ns, .n_max = n_spinners(), .now_ns = gsb_clock_ns};
	gsb_proc.virtual_time = m->device.clock_is_virtual;
}

/* "GPU-" and the beginning of the UUID in its usual form; at least one digit. */
static bool is_our_uuid(const char *word, size_t len)
{
	const uint8_t *u = gsb_proc.device.uuid;
	char text[64];
	int n = snprintf(text, sizeof(text),
			 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11],
			 u[12], u[13], u[14], u[15]);

	return len > 4 && len <= (size_t)n && !strncasecmp(word, text, len);
}

/* The driver reads the list up to its first word that names no device; with one device that is one word. */
static bool is_visible(const char *list)
{
	size_t len = strcspn(list, ",");

	return is_our_uuid(list, len) || (strspn(list, " 0") == len && memchr(list, '0', len));
}

static void read_environment(void)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");

	gsb_proc.device_is_hidden = visible && !is_visible(visible);
	gsb_proc.launch_blocking = blocking && atoi(blocking);
}

static void end_thread(struct gsb_self *self)
{
	gsb_cu_copy_end_thread();
	gsb_cu_streams_destroy_own(self);
}

static CUresult start(void)
{
	gsb_probe_load();
	gsb_self_at_end(end_thread);
	if (gsb_watch_start()) {
		gsb_log(GSB_LOG_ERROR, "connect", "cannot start a thread: %s", strerror(errno));
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	return gsb_process_come_alive();
}

static CUresult connect_once(void)
{
	struct welcome w = {0};
	CUresult result = exchange_hello(&w);
	int r;

	if (result)
		return result;
	r = adopt(&w);
	if (r) {
		gsb_log(GSB_LOG_ERROR, "connect", "the broker's shared memory is unusable: %s%s",
			strerror(-r), limit_remedy(r));
		return gsb_cuda_result(r);
	}
	adopt_device(&w.msg);
	read_environment();
	return gsb_proc.device_is_hidden ? CUDA_ERROR_NO_DEVICE : start();
}

static CUresult connect_tenant(void)
{
	int saved = errno, was;

	if (gsb_is_alive())
		return CUDA_SUCCESS;
	if (gsb_process_is_orphan())
		return CUDA_ERROR_NOT_INITIALIZED; /* the lock may be held */
	was = gsb_cancel_hold();
	pthread_mutex_lock(&connect_lock);
	if (!is_tried) {
		tried_result = connect_once();
		is_tried = true;
	}
	pthread_mutex_unlock(&connect_lock);
	gsb_cancel_let_go(was);
	errno = saved;
	return tried_result;
}

CUresult hook_cuInit(unsigned flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : connect_tenant();
}
