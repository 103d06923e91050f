/*
 * pace.h - what commands should take, and what follows from it: when the GPU is asked again, and which are timed.
 *
 * A command is taken to take what the last of its kind took that was timed: each kernel is a kind of its own, and so are short commands, and
 * long copies for each unit of their length, in each direction. Around the time when the first of a queue should end the engine stays
 * awake; before and after it naps for a part of the time in which nothing has happened, so that one that takes another time is
 * noticed late by a few percent.
 *
 * Events that time a command cost more than many a command: 7 us of the 15 between a launch and the news of its end on an
 * H200. So of short ones one in TIMED_EVERY is timed, and of those that end together the first stands for all; of the others it is known to a few us,
 * from when they were sent and when it was seen that they had not ended and that they had, and within that they are taken for the last. Of those that are urgent
 * whatever is not long counts as short.
 */
#ifndef GSB_DEVICE_CUDA_PACE_H
#define GSB_DEVICE_CUDA_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct cuda_device;
struct gsb_cmd;

enum { CUDA_COPY_IN, CUDA_COPY_OUT, CUDA_COPY_WITHIN, CUDA_FILL, CUDA_N_KINDS };

/* What a kind takes for each of its units; 0: not known yet. */
struct cuda_habit {
	uint64_t unit_ns;
	unsigned n_untimed; /* since one was timed */
};

/* Of a command: its kind, NULL where nothing is learnt of it, and when it should end. */
struct cuda_outlook {
	struct cuda_habit *habit;
	uint64_t n_units;
	uint64_t about_ns, due_ns; /* 0: not known */
	uint64_t short_ns;	   /* what takes no longer need not be timed each time */
};

/* From now on, or from when what is before it in its queue should end. */
struct cuda_outlook cuda_outlook_of(struct cuda_device *dev, const struct gsb_cmd *cmd,
				    uint64_t from_ns);
/* It is sent alone, or others behind it end with it: whether that must be timed. */
bool cuda_outlook_must_be_timed(const struct cuda_outlook *o);
/* It was timed, and took so long. */
void cuda_outlook_end(struct cuda_outlook *o, uint64_t took_ns);
/* Commands that end together and were not timed. */
struct cuda_untimed {
	uint64_t n, about_ns; /* so many, and what all of them should take */
	uint64_t sent_ns;     /* or when what was before them had ended */
	uint64_t open_ns; /* when it was seen last that they had not ended; before sent_ns: never */
	uint64_t end_ns;  /* when it was seen that they had */
	uint64_t call_ns; /* so long after sent_ns the driver's call for them had returned */
};
/* How long they took. @o: of the first. */
uint64_t cuda_outlook_guess_ns(struct cuda_outlook *o, const struct cuda_untimed *u);

/* Nothing is in flight, but so soon after the last news more is likely to come at once. */
bool cuda_is_lively(uint64_t quiet_ns);
/*
 * cuda_nap_ns() - how long the engine may sleep for all that one queue is worth
 * @quiet_ns: since something was issued or has ended on the device
 * @first:    of its first command
 * Return: 0: it should not.
 */
uint64_t cuda_nap_ns(uint64_t now, uint64_t quiet_ns, const struct cuda_outlook *first);

#endif
