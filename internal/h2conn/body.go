package h2conn

import (
	"time"

	"example.com/ferry/protocol/http2"
)

// Outgoing is a stream with a goroutine that sends a large body.
type Outgoing struct {
	// Stream returns the stream, or nil after its release, and whether the goroutine may send more. It is called with the lock.
	Stream func() (s *http2.Stream, sendable bool)

	// Writable has a token, for which it has room, when the goroutine should look again: Handler.Writable and Handler.Reset put it there.
	Writable <-chan struct{}
}

// Until ends a wait. The channels may be nil.
type Until struct {
	Done    <-chan struct{}
	Timeout <-chan time.Time
	Idle    time.Duration // a wait in which nothing of the queue leaves ends after this time, or at most twice it; 0 or negative means no bound
}

// AwaitRoom waits until the queue of a stream has room. It needs the lock, and unlocks it while it waits. It returns false if the stream can
// send nothing more, or at the end of until.
func (c *Conn) AwaitRoom(o Outgoing, until Until) bool {
	var idle *time.Timer
	var expired <-chan time.Time
	queued, late := 0, false // bytes in the queue when idle began; idle has ended
	for {
		s, sendable := o.Stream()
		switch {
		case s == nil || !sendable || s.Ended():
			return false
		case !s.Full():
			return true
		case late && s.Queued() == queued:
			return false
		case late:
			idle.Reset(until.Idle)
			queued, late = s.Queued(), false
		case idle == nil && until.Idle > 0:
			idle = time.NewTimer(until.Idle)
			defer idle.Stop()
			expired, queued = idle.C, s.Queued()
		}
		c.Unlock()
		ended := false
		select {
		case <-o.Writable:
		case <-until.Done:
			ended = true
		case <-until.Timeout:
			ended = true
		case <-expired:
			late = true
		}
		c.Lock()
		if ended {
			return false
		}
	}
}

// Piece is the largest part of a body that is passed to a stream at once, in bytes. The queue is at most this much above its bound.
const Piece = 32 << 10

// WriteBody writes body in pieces, and the end of the stream if end is set. It waits for room before each of them, as AwaitRoom does. A body that cannot
// be completed resets the stream. It needs the lock, and unlocks it while it waits.
func (c *Conn) WriteBody(o Outgoing, body []byte, end bool, until Until) bool {
	for len(body) > 0 {
		if !c.AwaitRoom(o, until) {
			if s, _ := o.Stream(); s != nil {
				s.Reset(http2.Cancel) // nothing else may follow a part of a body
			}
			return false
		}
		s, _ := o.Stream()
		n := min(len(body), Piece)
		s.Write(body[:n], end && n == len(body))
		body = body[n:]
	}
	return true
}
