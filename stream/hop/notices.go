package hop

import (
	"time"

	"example.com/ferry/protocol/native"
)

// notices tells a client of its messages that were dropped: at most one NOTICE a second goes out at once, further drops
// are added up.
type notices struct {
	waiting native.NoticeFrame // Count is 0 if none waits
	sentAt  int64              // Unix nanoseconds of the last NOTICE
}

// add notes v. A notice of another tag or code that waits is sent first.
func (n *notices) add(s *session, now int64, v native.NoticeFrame) {
	if n.waiting.Count > 0 && (n.waiting.Tag != v.Tag || n.waiting.Code != v.Code) {
		n.send(s, now)
	}
	if n.waiting.Count == 0 {
		n.waiting = v
	} else {
		n.waiting.Count += v.Count
	}
	if now-n.sentAt > int64(time.Second) {
		n.send(s, now)
	}
}

// send sends the notice that waits, if there is one.
func (n *notices) send(s *session, now int64) {
	if n.waiting.Count == 0 {
		return
	}
	v := n.waiting
	n.waiting, n.sentAt = native.NoticeFrame{}, now
	s.peer.Respond(func(b []byte) []byte { return native.AppendNotice(b, v) })
}
