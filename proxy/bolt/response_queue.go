package bolt

import (
	"fmt"
	"slices"

	wire "example.com/ferry/protocol/bolt"
)

// responseQueue orders the responses to a client. A large response is written in pieces, and no other frame may stand
// between two pieces. Other responses wait until the large response has ended.
type responseQueue struct {
	current      *request // request whose large response is being written, or nil
	waiting      []*queuedResponse
	size         int // total bytes in waiting
	controlBytes int // bytes in waiting that are responses of the proxy's own
}

// queuedResponse is one or more whole responses, or the pieces of one large response that have arrived so far.
type queuedResponse struct {
	bytes      []byte
	unfinished *request // request of a large response whose last piece has not arrived; otherwise nil
}

// maxControlBytes bounds the bytes of the proxy's own responses that wait on one connection. These are responses to
// heartbeats and to requests that are not forwarded.
const maxControlBytes = 64 << 10

// write sends a whole frame to the client. While a large response is being written, the frame is queued instead.
func (s *session) write(p []byte) {
	q := &s.responses
	if q.current == nil {
		s.writeNow(p)
	} else if last := len(q.waiting) - 1; last >= 0 && q.waiting[last].unfinished == nil {
		q.append(q.waiting[last], p)
	} else {
		q.waiting = append(q.waiting, &queuedResponse{})
		q.append(q.waiting[last+1], p)
	}
	s.checkQueue()
}

// writeControl sends a whole frame of the proxy's own.
func (s *session) writeControl(p []byte) {
	if s.responses.current != nil {
		s.responses.controlBytes += len(p)
	}
	s.write(p)
}

func (q *responseQueue) append(k *queuedResponse, p []byte) {
	k.bytes = append(k.bytes, p...)
	q.size += len(p)
}

func (s *session) writeNow(p []byte) {
	s.client.Write(p)
	s.bytesWritten += int64(len(p))
}

// checkQueue aborts the connection of a client that leaves more than max_queued bytes unread. It starts
// slowClientTimer if the queue is full.
func (s *session) checkQueue() {
	limit := s.loopState.service.settings.Load().config.MaxQueued
	if n := s.client.Queued() + s.responses.size; n > limit {
		s.client.Abort(fmt.Errorf("bolt: the client leaves %d bytes of responses unread: max_queued is %d", n, limit))
	}
	if s.client.Full() && !s.slowClient {
		s.slowClient = true
		s.startSlowClientTimer()
	}
}

// startSlowClientTimer gives the client frame_timeout to read part of its responses.
func (s *session) startSlowClientTimer() {
	s.bytesTaken = s.bytesWritten - int64(s.client.Queued())
	s.client.SetTimer(slowClientTimer, s.frameTimeout())
}

// checkSlowClient aborts the connection of a client that has read nothing for frame_timeout.
func (s *session) checkSlowClient() {
	switch {
	case !s.slowClient:
	case s.bytesWritten-int64(s.client.Queued()) > s.bytesTaken:
		s.startSlowClientTimer()
	default:
		s.client.Abort(fmt.Errorf("bolt: the client reads none of %d bytes of responses: frame_timeout", s.client.Queued()))
	}
}

// startLarge begins the large response to r. If another large response is being written, the new one is queued.
func (s *session) startLarge(r *request) {
	q := &s.responses
	if q.current == nil {
		q.current = r
		return
	}
	r.queued = &queuedResponse{unfinished: r}
	q.waiting = append(q.waiting, r.queued)
}

// largeData writes or queues a piece of a large response. full means that the client's queue is full.
func (s *session) largeData(r *request, p []byte) (full bool) {
	if s.responses.current == r {
		s.writeNow(p)
	} else {
		s.responses.append(r.queued, p)
	}
	s.checkQueue()
	return s.responses.current == r && s.client.Full()
}

// endLarge ends the large response to r, and ends r. If r was the current response, endLarge then writes the waiting
// responses up to the next unfinished one.
func (s *session) endLarge(r *request, status wire.Status) {
	q := &s.responses
	if q.current != r {
		r.queued.unfinished = nil
		s.endRequest(r, status)
		return
	}
	q.current = nil
	for len(q.waiting) > 0 && q.current == nil {
		k := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		s.writeNow(k.bytes)
		q.size -= len(k.bytes)
		if q.current = k.unfinished; q.current != nil {
			q.current.queued = nil
		}
	}
	q.controlBytes = min(q.controlBytes, q.size)
	s.endRequest(r, status)
}

// failLarge ends r, whose large response cannot be completed. If the client has received a part of it, the client is
// disconnected. Otherwise the client gets an error response.
func (s *session) failLarge(r *request, cause error) {
	q := &s.responses
	if q.current == r {
		s.client.Abort(fmt.Errorf("bolt: a response ended in its middle: %w", cause))
		return
	}
	k := r.queued
	q.size -= len(k.bytes)
	q.controlBytes = min(q.controlBytes, q.size)
	q.waiting = slices.DeleteFunc(q.waiting, func(other *queuedResponse) bool { return other == k })
	s.respondStatus(r, wire.StatusClosed)
}

// resume resumes reading the current large response from its upstream connection.
func (q *responseQueue) resume() {
	if q.current != nil && q.current.upstream != nil {
		q.current.upstream.resume()
	}
}
