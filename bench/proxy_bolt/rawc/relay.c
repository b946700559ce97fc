// The least that a C program has to do to forward Bolt: what rawgo does, in C. Requests from any number of connections go on
// by a few, each with another id, and their answers back. One thread, one copy of each byte, one read of a socket and one
// write to it a round; no timeouts, no checks, no bound to what is queued.
//
//	relay LISTEN_PORT BACKEND_PORT CONNECTIONS
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROUND = 512, MAX_FDS = 1 << 16, MAX_FLIGHTS = 1 << 20, ID_AT = 5 };

struct bytes {
	uint8_t *at;
	size_t len, cap;
};

struct conn {
	int fd; // -1 when it is closed
	int upstream, dirty;
	struct bytes left, out; // of a frame that has not come whole; to be written
};

struct flight {
	struct conn *from;
	uint8_t id[4];
	uint32_t next; // free place, when this one is free
};

static struct conn *conns[MAX_FDS], *upstreams[MAX_FDS], *dirty[MAX_FDS];
static int upstream_count, turn, dirty_count, poll_fd;
static struct flight flights[MAX_FLIGHTS];
static uint32_t flight_count = 1, first_free; // place 0 is none
static uint8_t buf[256 << 10];

static void die(const char *what) {
	perror(what);
	exit(1);
}

static void append(struct bytes *b, const uint8_t *p, size_t n) {
	if (b->len + n > b->cap) {
		b->cap = 2 * (b->len + n);
		if ((b->at = realloc(b->at, b->cap)) == NULL) die("realloc");
	}
	memcpy(b->at + b->len, p, n);
	b->len += n;
}

static void drop(struct bytes *b, size_t n) {
	b->len -= n;
	memmove(b->at, b->at + n, b->len);
}

static struct conn *add(int fd, int upstream) {
	if (fd >= MAX_FDS) die("too many connections");
	struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.fd = fd};
	int one = 1;
	struct conn *c = calloc(1, sizeof *c);
	if (c == NULL || epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &e) < 0) die("add");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	c->fd = fd;
	c->upstream = upstream;
	return conns[fd] = c;
}

static void queue(struct conn *c, const uint8_t *frame, size_t size) {
	if (c->fd < 0) return;
	append(&c->out, frame, size);
	if (!c->dirty) {
		c->dirty = 1;
		dirty[dirty_count++] = c;
	}
}

// Version 1 only: requests have 22 bytes in front, answers 20, and the lengths of class, header and content in the last 8.
static size_t frame_size(const uint8_t *p, size_t n) {
	if (n < 22) return 0;
	size_t fixed = p[1] ? 22 : 20;
	const uint8_t *l = p + fixed - 8;
	return fixed + ((size_t)l[0] << 8) + l[1] + ((size_t)l[2] << 8) + l[3] + ((size_t)l[4] << 24) + ((size_t)l[5] << 16) + ((size_t)l[6] << 8) + l[7];
}

static void request(struct conn *c, uint8_t *frame, size_t size) {
	uint32_t place = first_free;
	if (place != 0) {
		first_free = flights[place].next;
	} else if ((place = flight_count++) >= MAX_FLIGHTS) {
		die("too many requests in flight");
	}
	flights[place].from = c;
	memcpy(flights[place].id, frame + ID_AT, 4);
	uint32_t id = htonl(place);
	memcpy(frame + ID_AT, &id, 4);
	queue(upstreams[turn], frame, size);
}

static void answer(uint8_t *frame, size_t size) {
	uint32_t place;
	memcpy(&place, frame + ID_AT, 4);
	struct flight *f = &flights[place = ntohl(place)];
	memcpy(frame + ID_AT, f->id, 4);
	f->next = first_free;
	first_free = place;
	queue(f->from, frame, size);
}

static void receive(struct conn *c) {
	ssize_t n = read(c->fd, buf, sizeof buf);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
	if (n <= 0) {
		if (c->upstream) die("the backend ended");
		close(c->fd);
		c->fd = -1;
		return;
	}
	uint8_t *p = buf;
	size_t len = (size_t)n, done = 0, size;
	if (c->left.len > 0) {
		append(&c->left, buf, len);
		p = c->left.at;
		len = c->left.len;
	}
	while ((size = frame_size(p + done, len - done)) != 0 && size <= len - done) {
		if (c->upstream) answer(p + done, size);
		else request(c, p + done, size);
		done += size;
	}
	if (p == buf) append(&c->left, p + done, len - done);
	else drop(&c->left, done);
}

// flush tells whether something is left.
static int flush(struct conn *c) {
	if (c->fd < 0) return 0;
	ssize_t n = send(c->fd, c->out.at, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0) n = errno == EAGAIN ? 0 : (ssize_t)c->out.len; // nobody is there: its end is about to be read
	drop(&c->out, (size_t)n);
	return c->out.len > 0;
}

int main(int argc, char **argv) {
	if (argc != 4) {
		fprintf(stderr, "want LISTEN_PORT BACKEND_PORT CONNECTIONS\n");
		return 1;
	}
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in there = here;
	there.sin_port = htons((uint16_t)atoi(argv[2]));
	if ((poll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll");
	for (upstream_count = 0; upstream_count < atoi(argv[3]); upstream_count++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		if (fd < 0 || connect(fd, (struct sockaddr *)&there, sizeof there) < 0) die("connect");
		upstreams[upstream_count] = add(fd, 1);
	}
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (listener < 0 || bind(listener, (struct sockaddr *)&here, sizeof here) < 0 || listen(listener, 4096) < 0) die("listen");
	struct epoll_event e = {.events = EPOLLIN, .data.fd = listener}, events[ROUND];
	if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, listener, &e) < 0) die("epoll_ctl");
	for (;;) {
		int n = epoll_wait(poll_fd, events, ROUND, dirty_count > 0 ? 1 : -1);
		if (n < 0 && errno != EINTR) die("epoll_wait");
		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;
			if (fd != listener) {
				receive(conns[fd]);
				continue;
			}
			while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) add(fd, 0);
		}
		turn = (turn + 1) % upstream_count; // all requests of a round go to one, so that they leave and arrive together
		int full = 0;
		for (int i = 0; i < dirty_count; i++) {
			if ((dirty[i]->dirty = flush(dirty[i]))) dirty[full++] = dirty[i];
		}
		dirty_count = full;
	}
}
