package hop

import (
	"time"

	"example.com/ferry/protocol/native"
)

// notices tells a client which of its messages were dropped. It sends at most one NOTICE a second. Further drops are
// added up for the next NOTICE.
type notices struct {
	waiting native.NoticeFrame // next NOTICE; Count is 0 if there is none
	sentAt  int64              // when the last NOTICE was sent, in Unix nanoseconds
}

// add adds v to the next NOTICE. If that one has another tag or code, it is sent first.
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

// send sends the next NOTICE, if there is one.
func (n *notices) send(s *session, now int64) {
	if n.waiting.Count == 0 {
		return
	}
	v := n.waiting
	n.waiting, n.sentAt = native.NoticeFrame{}, now
	s.peer.Respond(func(b []byte) []byte { return native.AppendNotice(b, v) })
}
