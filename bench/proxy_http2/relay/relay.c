// The least that an HTTP/2 proxy does, in C: it passes each frame on, with another stream id.
//
//	relay WORKERS LISTEN_PORT UPSTREAM_PORT
//
// A worker has five connections to the upstream. The streams of a client's connection all use one of them, and get new ids
// there. What it leaves out:
//
//   - HPACK: both sides are told that the header table has 0 bytes, so that a header block does not depend on the blocks before it
//     and is passed on as it is. Nothing is decoded, tested, added or removed, and no request is routed.
//   - Windows: both sides are told the stream window that client and backend of this benchmark announce, and WINDOW_UPDATE of a
//     stream is passed on like DATA. The window of a connection is always large, and is not watched when DATA is sent.
//   - The life of a stream: an entry is overwritten by a stream that comes 4096 streams later. Nothing has a timeout.
//   - CONTINUATION, GOAWAY, a connection that fails: the relay ends.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { most_descriptors = 1 << 10, most_events = 64, read_size = 256 << 10, most_queued = 64 << 20, upstreams = 5, entries = 4096 };
enum { frame_header = 9, stream_window = 1 << 20, big_window = 1 << 30 };
enum { data = 0, headers = 1, reset = 3, settings = 4, ping = 6, window_update = 8, continuation = 9 };
enum { end_stream = 1, ack = 1, end_headers = 4 };

// A conn is a connection of a client or to the upstream. entry maps its stream ids to those of a stream's other connection.
struct conn {
	int fd, is_up, preface, queued, waits;
	struct conn *up;	   // of a client's connection
	uint32_t next_id;	   // of a connection to the upstream
	uint32_t uncredited;	   // bytes of DATA since the last WINDOW_UPDATE of the connection
	uint8_t *in, *out;
	size_t in_len, out_len, out_cap;
	struct {
		struct conn *other;
		uint32_t id, other_id;
	} entry[entries];
};

struct worker {
	int poll, listener, accepted, dirty_count;
	struct conn *dirty[most_descriptors], *up[upstreams];
};

static struct sockaddr_in here, upstream;

static void die(const char *what) {
	perror(what);
	exit(1);
}

static struct sockaddr_in at_port(const char *port) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	return a;
}

static void watch(struct worker *w, int fd, void *what, int change, uint32_t events) {
	struct epoll_event e = {.events = events, .data.ptr = what};
	if (epoll_ctl(w->poll, change, fd, &e) != 0)
		die("epoll_ctl");
}

static void put32(uint8_t *p, uint32_t v) {
	p[0] = v >> 24, p[1] = v >> 16, p[2] = v >> 8, p[3] = v;
}

static uint32_t get32(const uint8_t *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

// queue appends to the output of c. The worker writes it at the end of the turn.
static uint8_t *queue(struct worker *w, struct conn *c, const void *p, size_t n) {
	if (c->out_len + n > c->out_cap) {
		c->out_cap = 2 * (c->out_len + n);
		if (c->out_cap > most_queued || (c->out = realloc(c->out, c->out_cap)) == NULL)
			die("queue");
	}
	memcpy(c->out + c->out_len, p, n);
	c->out_len += n;
	if (!c->queued) {
		c->queued = 1;
		w->dirty[w->dirty_count++] = c;
	}
	return c->out + c->out_len - n;
}

static void queue_number(struct worker *w, struct conn *c, uint8_t kind, uint32_t number) {
	uint8_t f[frame_header + 4] = {0, 0, 4, kind};
	put32(f + frame_header, number);
	queue(w, c, f, sizeof f);
}

static struct conn *new_conn(struct worker *w, int fd, int is_up) {
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	uint8_t s[] = {0, 0, 12, settings, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0}; // HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE
	struct conn *c = calloc(1, sizeof *c);
	int on = 1;
	if (c == NULL || (c->in = malloc(read_size)) == NULL || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
		die("connection");
	c->fd = fd, c->is_up = is_up, c->next_id = 1, c->preface = is_up ? 0 : 24;
	put32(s + 17, stream_window);
	if (is_up)
		queue(w, c, preface, 24);
	queue(w, c, s, sizeof s);
	queue_number(w, c, window_update, big_window);
	watch(w, fd, c, EPOLL_CTL_ADD, EPOLLIN);
	return c;
}

static void accept_all(struct worker *w) {
	for (;;) {
		int fd = accept4(w->listener, NULL, NULL, SOCK_NONBLOCK);
		if (fd < 0) {
			if (errno == EAGAIN)
				return;
			die("accept");
		}
		struct conn **up = &w->up[w->accepted++ % upstreams];
		if (*up == NULL) {
			int s = socket(AF_INET, SOCK_STREAM, 0);
			if (s < 0 || connect(s, (const struct sockaddr *)&upstream, sizeof upstream) != 0)
				die("connect");
			*up = new_conn(w, s, 1);
		}
		new_conn(w, fd, 0)->up = *up;
	}
}

// pass_on sends a frame of a stream to the stream's other connection.
static void pass_on(struct worker *w, struct conn *c, uint8_t *f, size_t n) {
	uint32_t id = get32(f + 5), at = id / 2 % entries;
	if (c->entry[at].id != id || c->entry[at].other == NULL) {
		if (c->is_up || f[3] != headers)
			return; // of a stream that has ended
		uint32_t up_id = c->up->next_id, up_at = up_id / 2 % entries;
		c->up->next_id += 2;
		c->entry[at].id = id, c->entry[at].other = c->up, c->entry[at].other_id = up_id;
		c->up->entry[up_at].id = up_id, c->up->entry[up_at].other = c, c->up->entry[up_at].other_id = id;
	}
	put32(queue(w, c->entry[at].other, f, n) + 5, c->entry[at].other_id);
}

static void handle(struct worker *w, struct conn *c, uint8_t *f, size_t n) {
	switch (f[3]) {
	case data:
		if ((c->uncredited += n - frame_header) > big_window / 2) {
			queue_number(w, c, window_update, c->uncredited);
			c->uncredited = 0;
		}
		pass_on(w, c, f, n);
		break;
	case headers:
		if (!(f[4] & end_headers))
			die("CONTINUATION");
		pass_on(w, c, f, n);
		break;
	case reset:
		pass_on(w, c, f, n);
		break;
	case window_update:
		if (get32(f + 5) != 0)
			pass_on(w, c, f, n);
		break;
	case settings:
		if (!(f[4] & ack)) {
			static const uint8_t reply[frame_header] = {0, 0, 0, settings, ack};
			queue(w, c, reply, sizeof reply);
		}
		break;
	case ping:
		if (!(f[4] & ack))
			queue(w, c, f, n)[4] = ack;
		break;
	}
}

static void close_conn(struct conn *c) {
	if (c->is_up)
		exit(0); // the backend has ended
	for (int i = 0; i < entries; i++)
		if (c->entry[i].other != NULL)
			c->entry[i].other->entry[c->entry[i].other_id / 2 % entries].other = NULL;
	close(c->fd);
	c->fd = -1; // the memory stays: this turn may hold the connection
}

static void read_frames(struct worker *w, struct conn *c) {
	ssize_t n = recv(c->fd, c->in + c->in_len, read_size - c->in_len, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		close_conn(c);
		return;
	}
	c->in_len += n;
	size_t at = 0;
	if (c->preface) {
		if (c->in_len < 24)
			return;
		at = c->preface, c->preface = 0;
	}
	while (c->in_len - at >= frame_header) {
		uint8_t *f = c->in + at;
		size_t length = frame_header + ((size_t)f[0] << 16 | f[1] << 8 | f[2]);
		if (length > read_size)
			die("frame");
		if (c->in_len - at < length)
			break;
		handle(w, c, f, length);
		at += length;
	}
	c->in_len -= at;
	memmove(c->in, c->in + at, c->in_len);
}

static void write_out(struct worker *w, struct conn *c) {
	c->queued = 0;
	if (c->fd < 0)
		return;
	ssize_t n = send(c->fd, c->out, c->out_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN)
		return; // a closed connection is detected when it is read
	n = n < 0 ? 0 : n;
	c->out_len -= n;
	memmove(c->out, c->out + n, c->out_len);
	if ((c->out_len > 0) != c->waits) {
		c->waits = c->out_len > 0;
		watch(w, c->fd, c, EPOLL_CTL_MOD, c->waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
	}
}

static int listen_at(const struct sockaddr_in *addr) {
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0 ||
	    bind(fd, (const struct sockaddr *)addr, sizeof *addr) != 0 || listen(fd, 4096) != 0)
		die("listen");
	return fd;
}

static void *work(void *unused) {
	(void)unused;
	struct epoll_event events[most_events];
	struct worker *w = calloc(1, sizeof *w);
	if (w == NULL || (w->poll = epoll_create1(0)) < 0)
		die("start");
	w->listener = listen_at(&here);
	watch(w, w->listener, NULL, EPOLL_CTL_ADD, EPOLLIN);
	for (;;) {
		int n = epoll_wait(w->poll, events, most_events, -1);
		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		for (int i = 0; i < n; i++) {
			struct conn *c = events[i].data.ptr;
			if (c == NULL) {
				accept_all(w);
				continue;
			}
			if (events[i].events & EPOLLOUT && !c->queued) {
				c->queued = 1;
				w->dirty[w->dirty_count++] = c;
			}
			if (events[i].events & ~EPOLLOUT && c->fd >= 0)
				read_frames(w, c);
		}
		for (int i = 0; i < w->dirty_count; i++)
			write_out(w, w->dirty[i]);
		w->dirty_count = 0;
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
