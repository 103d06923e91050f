/*
 * trace.c - see trace.h: who listens, and the thread that writes the file.
 *
 * The writer looks into the buffer ten times a second, and when the engine says that a quarter of it is full: so the
 * engine makes one system call for thousands of events. It is joined when it has said on done_fd that it is done, so that
 * the engine never waits for a disk.
 */
#include "broker/engine/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hurry.h"
#include "base/log.h"
#include "broker/engine/trace/buffer.h"
#include "trace/compact.h"
#include "broker/engine/trace/provider.h"
#include "trace/write.h"

#define CHUNK_BYTES   (256u << 10) /* stays in the cache from when it is timed until it is written */
#define LOOK_EVERY_MS 100
#define LATE_MAX      10 /* times LOOK_EVERY_MS, for who reads what is left */

/* A session that begins beside another is not seen to begin; one that keeps the newest events alone writes over the others. */
#define ABOUT_EVERY_NS	   1000000000u
#define ABOUT_EVERY_EVENTS 1024

uint32_t gsb_trace_on;
bool gsb_trace_is_heard;
struct gsb_trace_buffer gsb_trace_ring = GSB_TRACE_CLOSED_BUFFER;
uint64_t gsb_trace_last_serial;

struct recorder {
	bool running; /* the thread is to be joined */
	pthread_t thread;
	struct gsb_trace_writer writer; /* the thread's */
	struct gsb_stamp_clock clock;	/* the thread's: of stamps it makes times */
	int work_fd;			/* eventfd: look now */
	bool rang;	 /* the engine has said so, and the buffer has not been emptier since */
	bool is_patient; /* of a socket: who reads is waited for */
	unsigned n_late; /* how often, since it is to end */
	_Atomic bool stop;
	_Atomic int error;
	_Atomic uint64_t n_bytes;
};

static struct recorder recorder = {.work_fd = -1};
static struct gsb_stamp_clock stamps; /* what events are timed by */
static int done_fd = -1;
static const struct gsb_trace_provider *provider;

/* ---- the thread that writes ---- */

static void ring_bell(int fd)
{
	const uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void silence(int fd)
{
	uint64_t count;

	while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

/*
 * To a socket, and so without regard to its flags, which its other end shares: no call waits for who reads. Once the
 * recording is to end, or is not the thread's yet, it is given up when he does not.
 */
static bool wait_for_reader(struct recorder *r)
{
	struct pollfd p = {.fd = r->writer.fd, .events = POLLOUT};

	if (!r->is_patient || (atomic_load(&r->stop) && ++r->n_late > LATE_MAX))
		return false;
	poll(&p, 1, LOOK_EVERY_MS);
	return true;
}

static ssize_t put_to_socket(struct gsb_trace_writer *w, const void *bytes, size_t size)
{
	struct recorder *r = gsb_container_of(w, struct recorder, writer);
	ssize_t n;

	while ((n = send(w->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL)) < 0 && errno == EAGAIN)
		if (!wait_for_reader(r)) {
			errno = ETIMEDOUT;
			break;
		}
	return n;
}

/* Compact records are written as they are: who reads has the time to make events of them. */
static int drain(struct recorder *r)
{
	struct gsb_trace_buffer *b = &gsb_trace_ring;
	struct iovec pieces[2];
	uint32_t bytes, n_events;
	int err = 0;

	while (!err && (bytes = gsb_trace_buffer_look(b, CHUNK_BYTES))) {
		gsb_stamp_clock_ns(&r->clock);
		n_events = gsb_trace_buffer_time(b, bytes, &r->clock);
		err = gsb_trace_write_pieces(&r->writer, pieces,
					     gsb_trace_buffer_pieces(b, bytes, pieces));
		gsb_trace_buffer_release(b, bytes, n_events);
		atomic_store(&r->n_bytes, r->writer.n_bytes);
	}
	return err;
}

/* -EPIPE: who reads is gone, which nothing else says while there is nothing to write. */
static int wait_for_work(struct recorder *r)
{
	struct pollfd p[] = {{.fd = r->work_fd, .events = POLLIN},
			     {.fd = r->writer.put ? r->writer.fd : -1}};

	if (poll(p, 2, LOOK_EVERY_MS) <= 0)
		return 0;
	if (p[0].revents)
		silence(r->work_fd);
	return p[1].revents ? -EPIPE : 0;
}

/* All of it is there; the engine puts no more. */
static int write_end(struct recorder *r)
{
	struct gsb_trace_lost lost;
	int err = drain(r);

	if (!err && gsb_trace_buffer_last_words(&gsb_trace_ring, &lost))
		err = gsb_trace_write_chunk(&r->writer, &lost, sizeof(lost));
	if (!err)
		err = gsb_trace_write_chunk(&r->writer, NULL, 0);
	atomic_store(&r->n_bytes, r->writer.n_bytes);
	return err;
}

static void *writer_main(void *arg)
{
	struct recorder *r = arg;
	int err = 0;

	gsb_trace_buffer_touch(&gsb_trace_ring);
	while (!err && !atomic_load(&r->stop)) {
		err = wait_for_work(r);
		if (!err)
			err = drain(r);
	}
	if (!err)
		err = write_end(r);
	if (close(r->writer.fd) < 0 && !err)
		err = -errno;
	if (err == -EPIPE && r->writer.put) /* he had enough */
		err = 0;
	atomic_store(&r->error, err);
	ring_bell(done_fd);
	return NULL;
}

/* ---- events ---- */

/* It looks full because nobody has looked: head_seen may be old. */
static void look_after_writer(struct recorder *r)
{
	struct gsb_trace_buffer *b = &gsb_trace_ring;

	if (gsb_trace_buffer_used(b) >= b->size / 4)
		b->head_seen = atomic_load_explicit(&b->head, memory_order_acquire);
	if (gsb_trace_buffer_used(b) < b->size / 4) {
		r->rang = false;
	} else if (!r->rang) {
		r->rang = true;
		ring_bell(r->work_fd);
	}
}

/* What sessions of LTTng are told of the engine. */
static struct {
	struct gsb_trace_about about; /* as it was told last */
	uint64_t (*now_ns)(struct gsb_device *dev);
	struct gsb_device *dev;
	bool heard;	  /* at the last event */
	unsigned n_since; /* events */
} told;

static bool is_about_due(const struct gsb_trace_head *event)
{
	return !told.heard || event->type == GSB_TRACE_TENANT_COME ||
	       told.n_since >= ABOUT_EVERY_EVENTS ||
	       event->time_ns - told.about.head.time_ns >= ABOUT_EVERY_NS;
}

/* In front of an event, where it is due. */
static void tell_about(const struct gsb_trace_head *event)
{
	bool heard = provider->is_about_heard();

	if (heard && is_about_due(event)) {
		told.about.head.time_ns = event->time_ns;
		told.about.device_ns = told.now_ns(told.dev);
		told.n_since = 0;
		provider->emit(&told.about.head);
	}
	told.heard = heard;
	told.n_since++;
}

static void event_to_lttng(struct gsb_trace_head *event)
{
	uint32_t posted = gsb_trace_posted_at(event->type);

	event->time_ns = gsb_stamp_clock_ns(&stamps);
	if (posted) {
		uint64_t *ns = (uint64_t *)((uint8_t *)event + posted);

		*ns = gsb_stamp_clock_past(&stamps, *ns);
	}
	tell_about(event);
	provider->emit(event);
}

static GSB_COLD void record_to_lttng(const struct gsb_trace_head *record)
{
	_Alignas(8) uint8_t events[GSB_TRACE_EXPANSION * GSB_TRACE_RECORD_MAX];
	uint32_t bytes = gsb_trace_expand(record, events), at = 0;

	while (at < bytes) {
		struct gsb_trace_head *event = (struct gsb_trace_head *)(events + at);

		at += event->bytes;
		event_to_lttng(event);
	}
}

/* LTTng is to have each, which nobody else thinks of. */
static void think_of_lttng(void)
{
	if (gsb_trace_on & GSB_TRACE_TO_LTTNG)
		gsb_trace_ring.until = NULL;
}

GSB_NOINLINE void gsb_trace_end_rare(const struct gsb_trace_head *record)
{
	if (gsb_trace_on & GSB_TRACE_TO_LTTNG)
		record_to_lttng(record);
	if (!(gsb_trace_on & GSB_TRACE_TO_FILE))
		return;
	look_after_writer(&recorder);
	gsb_trace_buffer_end_rare(&gsb_trace_ring, record);
	think_of_lttng();
}

void gsb_trace_put(struct gsb_trace_head *record)
{
	struct gsb_trace_head *to = gsb_trace_begin();

	record->time_ns = gsb_clock_stamp();
	memcpy(to, record, record->bytes);
	gsb_trace_end(to, (uint8_t *)to + record->bytes);
}

void gsb_trace_init(void)
{
	gsb_stamp_clock_begin(&stamps);
}

void gsb_trace_end_turn(void)
{
	struct gsb_trace_buffer *b = &gsb_trace_ring;

	if (!(gsb_trace_on & GSB_TRACE_TO_FILE) || b->next == b->published)
		return;
	gsb_trace_buffer_publish(b);
	if (gsb_likely(gsb_trace_buffer_used(b) <= b->size / 2))
		return;
	b->head_seen = atomic_load_explicit(&b->head, memory_order_acquire);
	if (gsb_trace_buffer_used(b) > b->size / 2)
		sched_yield();
}

static void set_listeners(uint32_t on)
{
	gsb_trace_on = on;
	gsb_trace_is_heard = on != 0;
	think_of_lttng();
}

/* ---- recordings ---- */

static void free_recorder(struct recorder *r)
{
	gsb_trace_buffer_finish(&gsb_trace_ring);
	if (r->work_fd >= 0)
		close(r->work_fd);
	r->work_fd = -1;
}

static int make_recorder(struct recorder *r, uint64_t buffer_bytes)
{
	int err;

	*r = (struct recorder){.work_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	err = r->work_fd < 0 ? -errno : 0;
	if (!err)
		err = gsb_trace_buffer_init(&gsb_trace_ring, buffer_bytes);
	if (err)
		free_recorder(r);
	return err;
}

/* Nothing else is written to: a pipe that nobody reads would hold the writer up for ever. */
static int check_file(int fd, bool *is_socket)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fstat(fd, &st) < 0)
		return -errno;
	*is_socket = S_ISSOCK(st.st_mode);
	return (*is_socket || S_ISREG(st.st_mode)) && (flags & O_ACCMODE) != O_RDONLY ? 0 : -EINVAL;
}

static uint64_t real_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int begin(struct recorder *r, int fd, gsb_trace_put_bytes *put,
		 const struct gsb_trace_header *about)
{
	struct gsb_trace_header header = *about;
	int err;

	header.mono_ns = gsb_stamp_clock_ns(&stamps);
	r->clock = stamps;
	header.real_ns = real_clock_ns();
	err = gsb_trace_write_header_by(&r->writer, fd, put, &header);
	if (err)
		return err;
	r->is_patient = true;
	err = pthread_create(&r->thread, NULL, writer_main, r);
	return -err;
}

int gsb_trace_record(int fd, const struct gsb_trace_header *about)
{
	bool is_socket = false;
	int err = recorder.running ? -EBUSY : check_file(fd, &is_socket);

	if (!err && gsb_trace_done_fd() < 0)
		err = gsb_trace_done_fd();
	if (!err)
		err = make_recorder(&recorder,
				    is_socket ? GSB_TRACE_FOLLOWED_BYTES : GSB_TRACE_BUFFER_BYTES);
	if (err)
		goto err_file;
	err = begin(&recorder, fd, is_socket ? put_to_socket : NULL, about);
	if (err)
		goto err_recorder;
	recorder.running = true;
	set_listeners(gsb_trace_on | GSB_TRACE_TO_FILE);
	return 0;
err_recorder:
	free_recorder(&recorder);
err_file:
	gsb_hurry_close(fd);
	return err;
}

static void tell_no_more(void)
{
	if (gsb_trace_on & GSB_TRACE_TO_FILE)
		gsb_trace_buffer_close(&gsb_trace_ring);
	set_listeners(gsb_trace_on & ~GSB_TRACE_TO_FILE);
}

bool gsb_trace_stop(void)
{
	if (!recorder.running)
		return false;
	tell_no_more();
	atomic_store(&recorder.stop, true);
	ring_bell(recorder.work_fd);
	return true;
}

int gsb_trace_done_fd(void)
{
	if (done_fd < 0)
		done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return done_fd < 0 ? -errno : done_fd;
}

bool gsb_trace_collect(void)
{
	int err;

	silence(done_fd);
	if (!recorder.running)
		return false;
	tell_no_more();
	pthread_join(recorder.thread, NULL);
	recorder.running = false;
	free_recorder(&recorder);
	err = atomic_load(&recorder.error);
	if (err)
		gsb_log(GSB_LOG_ERROR, "trace", "the recording has ended early: %s",
			strerror(-err));
	return true;
}

void gsb_trace_finish(void)
{
	if (gsb_trace_stop())
		gsb_trace_collect();
}

void gsb_trace_get_state(struct gsb_trace_state *out)
{
	*out = (struct gsb_trace_state){
		.recording = recorder.running,
		.lttng = gsb_trace_on & GSB_TRACE_TO_LTTNG,
		.error = atomic_load(&recorder.error),
		.n_events = atomic_load(&gsb_trace_ring.n_drained),
		.n_lost = atomic_load(&gsb_trace_ring.n_lost),
		.n_bytes = atomic_load(&recorder.n_bytes),
	};
}

/* ---- LTTng ---- */

static struct gsb_trace_about about_of(const struct gsb_trace_header *h)
{
	struct gsb_trace_about e = {
		.head = {GSB_TRACE_ABOUT, sizeof(e), 0, 0},
		.pid = h->pid,
		.n_sms = h->n_sms,
		.is_virtual = h->is_virtual,
	};

	static_assert(sizeof(e.device) == sizeof(h->device) &&
			      sizeof(e.policy) == sizeof(h->policy) &&
			      sizeof(e.version) == sizeof(h->version),
		      "sessions are told what a file is");
	memcpy(e.device, h->device, sizeof(e.device));
	memcpy(e.policy, h->policy, sizeof(e.policy));
	memcpy(e.version, h->version, sizeof(e.version));
	return e;
}

int gsb_trace_offer_lttng(const struct gsb_trace_header *about,
			  uint64_t (*now_ns)(struct gsb_device *dev), struct gsb_device *dev)
{
	int err = provider ? 0 : gsb_trace_load_provider(&provider);

	if (err)
		return err;
	told.about = about_of(about);
	told.now_ns = now_ns;
	told.dev = dev;
	told.heard = false;
	set_listeners(gsb_trace_on | GSB_TRACE_TO_LTTNG);
	return 0;
}
