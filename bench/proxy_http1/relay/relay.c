// The least that a proxy does, in C: what comes on one connection is written to its counterpart. It knows nothing of HTTP,
// waits where a connection to the upstream is made, and ends where a socket takes less than all.
//
//	relay WORKERS LISTEN_PORT UPSTREAM_PORT
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { most_descriptors = 1 << 17, most_events = 512, buffer_size = 64 << 10 };

static int counterpart[most_descriptors]; // 0: none

static struct sockaddr_in here, upstream;

static void die(const char *what) {
	perror(what);
	exit(1);
}

static struct sockaddr_in at_port(const char *port) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	return a;
}

static void watch(int poll, int fd) {
	struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.fd = fd};
	if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &e) != 0)
		die("epoll_ctl");
}

static void no_delay(int fd) {
	int on = 1;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
		die("TCP_NODELAY");
}

static int listen_at(const struct sockaddr_in *addr) {
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0 ||
	    bind(fd, (const struct sockaddr *)addr, sizeof *addr) != 0 || listen(fd, 65535) != 0)
		die("listen");
	return fd;
}

static void accept_all(int poll, int listener) {
	for (;;) {
		int down = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
		if (down < 0) {
			if (errno == EAGAIN)
				return;
			die("accept");
		}
		int up = socket(AF_INET, SOCK_STREAM, 0);
		if (up < 0 || up >= most_descriptors || connect(up, (const struct sockaddr *)&upstream, sizeof upstream) != 0)
			die("connect");
		no_delay(down);
		no_delay(up);
		counterpart[down] = up;
		counterpart[up] = down;
		watch(poll, down);
		watch(poll, up);
	}
}

static void pass_on(int fd, char *buffer) {
	int other = counterpart[fd];
	if (other == 0)
		return; // closed in the same turn
	ssize_t n = recv(fd, buffer, buffer_size, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		counterpart[fd] = counterpart[other] = 0;
		close(fd);
		close(other);
		return;
	}
	if (send(other, buffer, n, MSG_DONTWAIT | MSG_NOSIGNAL) != n && errno != EPIPE && errno != ECONNRESET)
		die("send");
}

static void *work(void *unused) {
	(void)unused;
	int poll = epoll_create1(0), listener = listen_at(&here);
	struct epoll_event events[most_events];
	char *buffer = malloc(buffer_size);
	if (poll < 0 || buffer == NULL)
		die("start");
	watch(poll, listener);
	for (;;) {
		int n = epoll_wait(poll, events, most_events, -1);
		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == listener)
				accept_all(poll, listener);
			else
				pass_on(events[i].data.fd, buffer);
		}
	}
	return NULL;
}

int main(int count, char **argument) {
	pthread_t thread;
	if (count != 4) {
		fputs("usage: relay WORKERS LISTEN_PORT UPSTREAM_PORT\n", stderr);
		return 2;
	}
	here = at_port(argument[2]);
	upstream = at_port(argument[3]);
	for (int worker = 0; worker < atoi(argument[1]); worker++)
		if (pthread_create(&thread, NULL, work, NULL) != 0)
			die("thread");
	pause();
}
