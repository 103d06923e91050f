/*
 * hurry.h - to let go of what a stranger has made without waiting for as long as he likes.
 *
 * The last close() of a socket with SO_LINGER waits until its peer has taken what was sent, or for as many seconds as
 * whoever made it has set. Such a socket comes with any message of a unix socket, and is closed with the message where
 * nobody wants it: by close() of the one that it was sent to, by recvmsg() that has no room for it. All of these waits
 * end with a signal. So while a thread that must not wait does such a thing, a timer sends it one every 200 us, whose
 * handler does nothing: SIGURG, which nobody minds if it comes at another time. One of them is enough for all that lingers
 * in the same call.
 *
 * A thread that closes in its stead would have to keep what it has not come to, which is as much as strangers send, and
 * children that start meanwhile would have copies of it, whose last close would be theirs.
 */
#ifndef GSB_BASE_HURRY_H
#define GSB_BASE_HURRY_H

/* The calling thread is the one of this process that must not wait. Return: 0, -errno. */
int gsb_hurry_init(void);

/* By that thread, around a call that may close what a stranger has sent; without gsb_hurry_init() they do nothing. */
void gsb_hurry_begin(void);
void gsb_hurry_end(void);

/* close() between the two; fd may be -1. */
void gsb_hurry_close(int fd);

#endif
