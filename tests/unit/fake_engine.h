/*
 * fake_engine.h - a small engine for tests of the library: a real process behind the real wire, which answers
 * records and writes down what it got, and executes nothing.
 *
 * What is in struct fake_engine is shared with the test. Records are logged when they are taken from the
 * ring; all streams complete in one order, unless hold is set.
 */
#ifndef GSB_TESTS_FAKE_ENGINE_H
#define GSB_TESTS_FAKE_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gsb/wire.h"

#define FAKE_LOG_MAX  32768
#define FAKE_BODY_MAX 2304
#define FAKE_KERNEL   "kernel" /* the one name that its modules have, beside FAKE_GLOBAL */
#define FAKE_MANAGED \
	"held" /* 16 bytes into the managed variables of the module that was placed last */
#define FAKE_GLOBAL "variable"

struct fake_record {
	struct gsb_rec rec;
	uint64_t number;      /* STREAM: of its stream */
	uint64_t sum;	      /* COPY from staging or inline: of the bytes, when it completed */
	_Atomic bool is_done; /* STREAM */
	_Alignas(16) uint8_t body[FAKE_BODY_MAX]; /* the first bytes after the header */
};

struct fake_engine {
	/* Set by the test before fake_engine_start. */
	uint64_t staging_bytes, host_window_bytes, image_max_bytes;
	uint64_t welcome_features; /* 0: what was asked for */
	const char *refuse;	   /* a reason: answer the hello with it */
	unsigned n_words,
		word_ms; /* said before that, or the welcome: STARTING; so long before each */
	bool is_silent;	 /* after those words */
	uint16_t major;	 /* of the answer to the hello */
	bool is_virtual;
	bool keeps; /* agrees to GSB_FEATURE_KEEP */

	/* Set by the test at any time. */
	_Atomic bool hold;	     /* complete nothing */
	_Atomic unsigned hold_after; /* so many copies have completed, hold; 0: do not */
	_Atomic bool ignore_ring;    /* take no record */
	_Atomic bool is_traced;	     /* as the region's header has it */
	_Atomic uint16_t minor;	     /* likewise, from the next call on */
	_Atomic bool take_back;	     /* all that is kept; false again when that is done */
	_Atomic uint32_t fail_type,
		fail_result;	       /* the next call of this type fails with this CUresult */
	uint32_t occupancy;	       /* its answer */
	_Atomic uint32_t launch_error; /* the next launch leaves this error in its context */
	struct gsb_function_info info; /* of every function */
	char log_text[128];	       /* answer to MODULE_LOAD, and the next */
	uint64_t managed_bytes, managed;
	uint64_t host_at; /* where the next pinned memory is to lie; 0: behind the last */

	/* Written by the engine. */
	pid_t pid;
	_Atomic uint32_t n_logged;
	struct fake_record log[FAKE_LOG_MAX];
	_Atomic uint64_t image_sum, image_bytes; /* of the last image that came in whole */
	_Atomic bool was_blocked_any;		 /* a thread has waited with GSB_WAIT_ANY */
	_Atomic unsigned n_host_funcs_done;	 /* answers on the socket */
	_Atomic unsigned n_looks;		 /* at the threads of the tenant */
	_Atomic unsigned n_threads;		 /* of these, that have a slot now */
	_Atomic unsigned n_blocked;		 /* of these, that wait */
};

/* Shared memory with usual values: a device of one SM worth of limits, one kernel without parameters. */
struct fake_engine *fake_engine_create(void);

/* Listen, set GSB_SOCKET, and start the process. It ends with the test, or by fake_engine_kill. */
void fake_engine_start(struct fake_engine *e);
void fake_engine_kill(struct fake_engine *e);

/* Records logged from index `from` on. */
unsigned fake_count(const struct fake_engine *e, unsigned from, enum gsb_rec_type type);
/* The last one of a type; ends the test program when there is none. */
const struct fake_record *fake_last(const struct fake_engine *e, enum gsb_rec_type type);

/* Byte that the engine puts at a device address when it is copied to the host. */
static inline uint8_t fake_byte(uint64_t addr)
{
	return (uint8_t)(addr * 7 + (addr >> 8));
}

#endif
