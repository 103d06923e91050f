/*
 * test_channel.c - messages, descriptors, and what a peer may not send.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/channel.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temp.h"

static void test_send_recv_passes_message_and_fds(void **state)
{
	struct gsb_msg_hello hello = {.pid = 42, .tenant = "alice"}, got;
	int pair[2], pipe_fds[2], fds[2];
	unsigned n = 2;
	char c = 0;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(pipe(pipe_fds), 0);
	gsb_msg_init(&hello.msg, GSB_MSG_HELLO, sizeof(hello));
	assert_int_equal(gsb_channel_send(pair[0], &hello.msg, pipe_fds, 2), 0);
	assert_int_equal(gsb_channel_recv(pair[1], &got, sizeof(got), fds, &n), sizeof(got));
	assert_int_equal(n, 2);
	assert_string_equal(got.tenant, "alice");
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(read(pipe_fds[0], &c, 1), 1);
	assert_int_equal(c, 'x');
	for (int i = 0; i < 2; i++) {
		close(pair[i]);
		close(pipe_fds[i]);
		close(fds[i]);
	}
}

static void test_recv_of_damaged_message_is_refused_and_leaks_no_fd(void **state)
{
	struct gsb_msg_hello hello = {0}, got;
	unsigned before, n;
	int pair[2], one[1], room[1];
	rlim_t limit;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	one[0] = pair[0];
	before = count_descriptors();

	gsb_msg_init(&hello.msg, GSB_MSG_HELLO, sizeof(hello));
	hello.msg.magic++;
	assert_int_equal(gsb_channel_send(pair[0], &hello.msg, one, 1), 0);
	n = 1;
	assert_int_equal(gsb_channel_recv(pair[1], &got, sizeof(got), room, &n), -EPROTO);

	gsb_msg_init(&hello.msg, GSB_MSG_HELLO, sizeof(hello));
	hello.msg.major = 99;
	assert_int_equal(gsb_channel_send(pair[0], &hello.msg, NULL, 0), 0);
	n = 1;
	assert_int_equal(gsb_channel_recv(pair[1], &got, sizeof(got), room, &n), -EPROTONOSUPPORT);
	assert_int_equal(got.msg.major, 99);

	gsb_msg_init(&hello.msg, GSB_MSG_HELLO, sizeof(hello));
	assert_int_equal(gsb_channel_send(pair[0], &hello.msg, one, 1), 0);
	n = 0; /* fds that nobody asked for */
	assert_int_equal(gsb_channel_recv(pair[1], &got, sizeof(got), room, &n), -EMSGSIZE);

	assert_int_equal(gsb_channel_send(pair[0], &hello.msg, one, 1), 0);
	n = 1;
	memset(&got, 0, sizeof(got));
	limit = limit_descriptors(0);
	assert_int_equal(gsb_channel_recv(pair[1], &got, sizeof(got), room, &n), -EMFILE);
	limit_descriptors(limit);
	assert_int_equal(got.msg.size, sizeof(got)); /* whose they were can be seen */

	assert_int_equal(gsb_channel_send(pair[0], &hello.msg, NULL, 0), 0);
	assert_int_equal(gsb_channel_recv(pair[1], &got, 40, NULL, NULL), -EMSGSIZE);
	hello.msg.size += 8; /* more than is sent */
	assert_int_equal(send(pair[0], &hello, sizeof(hello), 0), sizeof(hello));
	assert_int_equal(gsb_channel_recv(pair[1], &got, sizeof(got), NULL, NULL), -EPROTO);
	assert_int_equal(send(pair[0], "short", 5, 0), 5);
	assert_int_equal(gsb_channel_recv(pair[1], &got, sizeof(got), NULL, NULL), -EPROTO);

	assert_int_equal(count_descriptors(), before);
	close(pair[0]);
	assert_int_equal(gsb_channel_recv(pair[1], &got, sizeof(got), NULL, NULL), 0);
	close(pair[1]);
}

static void test_listen_replaces_dead_socket_but_not_live_one(void **state)
{
	char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX + 8];
	struct gsb_peer peer;
	int a, b, client, server;

	temp_path(dir, "gsb-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	assert_int_equal(gsb_channel_connect(path, &client), -ENOENT);
	assert_int_equal(gsb_channel_listen(path, &a), 0);
	assert_int_equal(gsb_channel_listen(path, &b), -EADDRINUSE);
	assert_int_equal(gsb_channel_connect(path, &client), 0);
	server = accept(a, NULL, NULL);
	close(server); /* the probe of the second listen */
	server = accept(a, NULL, NULL);
	assert_int_equal(gsb_channel_peer(server, &peer), 0);
	assert_int_equal(peer.pid, getpid());
	assert_int_equal(peer.uid, getuid());
	close(server);
	close(client);
	close(a); /* the file stays, nobody answers */
	assert_int_equal(gsb_channel_connect(path, &client), -ECONNREFUSED);
	assert_int_equal(gsb_channel_listen(path, &b), 0);
	close(b);
	unlink(path);
	rmdir(dir);
}

static void test_path_prefers_argument_then_environment(void **state)
{
	char path[256], longer[300];

	setenv("GSB_SOCKET", "/tmp/from-env", 1);
	assert_int_equal(gsb_channel_path("/tmp/arg", path, sizeof(path)), 0);
	assert_string_equal(path, "/tmp/arg");
	assert_int_equal(gsb_channel_path(NULL, path, sizeof(path)), 0);
	assert_string_equal(path, "/tmp/from-env");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(gsb_channel_path(longer, path, sizeof(path)), -ENAMETOOLONG);
	unsetenv("GSB_SOCKET");
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static bool has_ended(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* A child that connected to path and stays. */
static pid_t start_client(const char *path)
{
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	if (gsb_channel_connect(path, &fd))
		_exit(1);
	for (;;)
		pause();
}

/* Told the number of another process, as if it had been used again. */
static void test_peer_pidfd_is_of_the_process_that_connected(void **state)
{
	char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX + 8];
	int listener, fd, pidfd = -1, probe;
	socklen_t len = sizeof(probe);
	bool exact;
	pid_t pid;

	temp_path(dir, "gsb-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	assert_int_equal(gsb_channel_listen(path, &listener), 0);
	pid = start_client(path);
	fd = accept(listener, NULL, NULL);
	exact = getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &probe, &len) == 0;
	if (exact)
		close(probe);
	assert_int_equal(gsb_channel_peer_pidfd(fd, exact ? getpid() : pid, &pidfd), 0);
	assert_false(has_ended(pidfd));
	assert_int_equal(gsb_channel_peer_pidfd(fd, 0, &probe),
			 -EINVAL); /* a number we cannot see */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(has_ended(pidfd));
	close(pidfd);
	close(fd);
	close(listener);
	unlink(path);
	rmdir(dir);
	if (!exact)
		skip(); /* the number was all there is */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send_recv_passes_message_and_fds),
		cmocka_unit_test(test_recv_of_damaged_message_is_refused_and_leaks_no_fd),
		cmocka_unit_test(test_listen_replaces_dead_socket_but_not_live_one),
		cmocka_unit_test(test_path_prefers_argument_then_environment),
		cmocka_unit_test(test_peer_pidfd_is_of_the_process_that_connected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
