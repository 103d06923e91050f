/*
 * scrape.c - one HTTP exchange with gsbrokerd: scrape ADDRESS, where it is unix:/PATH or 127.0.0.1:PORT.
 *
 *   scrape ADDRESS            GET /metrics; checks what comes strictly, and prints it
 *   scrape ADDRESS --raw      sends standard input, half closes, and prints all that comes
 *   scrape ADDRESS --hold N   connects N times, says nothing, prints "held", waits until all were closed; prints "closed"
 *   scrape ADDRESS --among N  connects N times, says nothing there, gets /metrics by another connection, and prints how many
 *                             of the N are still open then
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/prometheus.h"

#define ANSWER_MAX (16u << 20)

static void die(const char *what)
{
	fprintf(stderr, "scrape: %s\n", what);
	exit(1);
}

static int connect_to(const char *address)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr_in in = {.sin_family = AF_INET};
	bool is_unix = !strncmp(address, "unix:", 5);
	int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", address + 5);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!is_unix)
		in.sin_port = htons((uint16_t)atoi(strchr(address, ':') + 1));
	if (connect(fd, is_unix ? (struct sockaddr *)&un : (struct sockaddr *)&in,
		    is_unix ? sizeof(un) : sizeof(in)))
		die("cannot connect");
	return fd;
}

static void send_all(int fd, const char *s, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, s, n, MSG_NOSIGNAL);

		if (sent < 0)
			return; /* it may refuse to hear the rest */
		s += sent;
		n -= (size_t)sent;
	}
}

static size_t receive_all(int fd, char *out)
{
	size_t n = 0;
	ssize_t got;

	while (n < ANSWER_MAX - 1 && (got = recv(fd, out + n, ANSWER_MAX - 1 - n, 0)) > 0)
		n += (size_t)got;
	out[n] = 0;
	return n;
}

/* The body, of which the head must say the truth. */
static const char *body_of(const char *answer, size_t n)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; "
				   "charset=utf-8\r\nContent-Length: ";
	const char *end = strstr(answer, "\r\n\r\n");

	if (strncmp(answer, head, sizeof(head) - 1) != 0 || !end)
		die(answer);
	if (strtoul(answer + sizeof(head) - 1, NULL, 10) != n - (size_t)(end + 4 - answer))
		die("Content-Length is not the length");
	return end + 4;
}

static size_t request_page(const char *address, char *answer)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: gsb\r\nAccept: */*\r\n\r\n";
	int fd = connect_to(address);

	send_all(fd, request, sizeof(request) - 1);
	return receive_all(fd, answer);
}

static int get(const char *address, char *answer)
{
	const char *body = body_of(answer, request_page(address, answer)), *why;

	why = prometheus_check(body);
	if (why)
		die(why);
	fputs(body, stdout);
	return 0;
}

static int raw(const char *address, char *answer)
{
	static char request[1 << 20];
	size_t n = fread(request, 1, sizeof(request), stdin);
	int fd = connect_to(address);

	send_all(fd, request, n);
	shutdown(fd, SHUT_WR);
	fwrite(answer, 1, receive_all(fd, answer), stdout);
	return 0;
}

static int hold(const char *address, int n)
{
	int fds[256];
	char byte;

	for (int i = 0; i < n && i < 256; i++)
		fds[i] = connect_to(address);
	printf("held\n");
	fflush(stdout);
	for (int i = 0; i < n && i < 256; i++)
		if (recv(fds[i], &byte, 1, 0) > 0)
			die("something was said to one who said nothing");
	printf("closed\n");
	return 0;
}

static int among(const char *address, int n, char *answer)
{
	int fds[256], n_open = 0;
	char byte;

	for (int i = 0; i < n && i < 256; i++)
		fds[i] = connect_to(address);
	body_of(answer, request_page(address, answer));
	for (int i = 0; i < n && i < 256; i++)
		n_open += recv(fds[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
	printf("%d\n", n_open);
	return 0;
}

int main(int argc, char **argv)
{
	static char answer[ANSWER_MAX];

	if (argc < 2)
		return 2;
	if (argc == 2)
		return get(argv[1], answer);
	if (!strcmp(argv[2], "--raw"))
		return raw(argv[1], answer);
	if (argc < 4)
		return 2;
	return !strcmp(argv[2], "--among") ? among(argv[1], atoi(argv[3]), answer)
					   : hold(argv[1], atoi(argv[3]));
}
