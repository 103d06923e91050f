/*
 * control_kit.h - the test as gsbrokerd: the other end of an engine's control socket.
 */
#ifndef GSB_TESTS_CONTROL_KIT_H
#define GSB_TESTS_CONTROL_KIT_H

#include <stddef.h>

#include "broker/engine/control.h"
#include "tests/unit/engine_kit.h"

struct kit_control {
	struct kit_engine k;
	struct gsb_control control;
	int brokerd; /* our end */
};

/* An engine that has said OPEN and READY, and has no memory granted yet. */
void kit_control_init(struct kit_control *c, bool virtual_clock);
void kit_control_finish(struct kit_control *c);

void kit_control_send(struct kit_control *c, struct gsb_msg *m, enum gsb_ctl_type type,
		      size_t size);
/* What the engine says next, when it has nothing to do any more: it must be of that type. */
void kit_control_receive(struct kit_control *c, enum gsb_ctl_type type, void *m, size_t size);
/* It has nothing more to say. */
void kit_control_receive_nothing(struct kit_control *c);

/* Of memory: the engine asks for so much, or gives it back. */
void kit_control_expect_ask(struct kit_control *c, uint64_t bytes);
void kit_control_expect_return(struct kit_control *c, uint64_t bytes, bool is_recalled);
/* The answer to what it has asked for. error: 0, -ENOMEM; free_bytes: that others could have yet */
void kit_control_answer(struct kit_control *c, uint64_t bytes, uint64_t free_bytes, int error);

/* As gsbrokerd does for who is alone on the device: all of it, for good. */
void kit_control_grant_all(struct kit_control *c);

#endif
