package broker

import (
	"strings"
	"time"

	"example.com/ferry/broker/internal/ranks"
	"example.com/ferry/protocol/native"
)

// Bounds of the NOTICEs of one connection. Without them, a client that publishes what is refused gets more than it can read, and
// loses its connection because it has too many unread responses.
const (
	noticesEvery   = time.Second          // between two rounds of NOTICEs for messages on tags that are not stored
	maxNotices     = 32                   // tags and codes in a round; one more NOTICE counts the messages beyond
	noticeInterval = time.Second / 256    // between two NOTICEs that keep the order of stored messages, on average
	noticeBurst    = 256 * noticeInterval // how far they may be ahead of that average
	maxReason      = 256                  // bytes of the reason in a NOTICE
)

// notices tells a client which of its messages were dropped. It sends a round of NOTICEs a second. Further drops are added up for the
// next round.
type notices struct {
	mu      ranks.Mutex[ranks.Notices]
	waiting []native.NoticeFrame // the next round; each tag and code once
	sentAt  int64                // when the last round was sent, as clock.Now
	paid    int64                // time up to which the NOTICEs of stored tags have used noticeInterval each, as clock.Now
}

// add adds v to the next round.
func (n *notices) add(s *session, now int64, v native.NoticeFrame) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count(v)
	if now-n.sentAt > int64(noticesEvery) {
		n.sendRound(s, now)
	}
}

func (n *notices) count(v native.NoticeFrame) {
	for i := range n.waiting {
		if w := &n.waiting[i]; w.Tag == v.Tag && w.Code == v.Code || w.Tag == native.ByName { // the latter is the last one
			w.Count += v.Count
			return
		}
	}
	if len(n.waiting) == maxNotices {
		v.Tag = native.ByName // several tags: all further messages of the round count here
	}
	n.waiting = append(n.waiting, v)
}

// send sends the next round, if there is anything in it.
func (n *notices) send(s *session, now int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sendRound(s, now)
}

func (n *notices) sendRound(s *session, now int64) {
	if len(n.waiting) == 0 {
		return
	}
	for _, v := range n.waiting {
		s.notice(v)
	}
	n.waiting, n.sentAt = n.waiting[:0], now
}

// noticeWait is notices.take. A client in the process gets no NOTICEs, so there is nothing to wait for.
func (s *session) noticeWait(now int64) time.Duration {
	if s.connectedState == nil {
		return 0
	}
	return s.notices.take(now)
}

// take returns 0 if a NOTICE of a stored tag may be sent now, and otherwise how long it has to wait.
func (n *notices) take(now int64) (wait time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	paid := max(n.paid, now)
	if ahead := time.Duration(paid - now); ahead >= noticeBurst {
		return ahead - noticeBurst + noticeInterval
	}
	n.paid = paid + int64(noticeInterval)
	return 0
}

// notice sends a NOTICE.
func (s *session) notice(v native.NoticeFrame) {
	if len(v.Reason) > maxReason {
		v.Reason = strings.ToValidUTF8(v.Reason[:maxReason], "")
	}
	s.client.notice(v)
}
