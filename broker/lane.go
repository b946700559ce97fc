package broker

import (
	"sync"

	"example.com/ferry/broker/internal/ledger"
	"example.com/ferry/engine"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// lane carries the runs of a publisher to one stream.
type lane struct {
	publisher *publisher
	stream    *storedStream
	done      func(error) // appended

	mu      sync.Mutex
	waiting peer.FIFO[laneRun] // that the engine has
}

// laneRun is a run of a lane.
type laneRun struct{ count, bytes int }

func (l *lane) push(r laneRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting.Push(r)
}

func (l *lane) pop() laneRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting.Pop()
}

// append appends a run of records, whose frames have that many bytes, to the stream. The credit for it returns when the engine has
// stored it.
func (p *publisher) append(st *storedStream, list []engine.Record, bytes int, c *ledger.Confirmations, done func(error)) {
	run := ledger.Run{Count: len(list), Bytes: bytes, Confirmations: c, Done: done}
	p.order.Lock()
	defer p.order.Unlock()
	if st.gone.Load() { // retire has settled, or settles, the runs of the lane
		run.Notice = st.goneNotice(p.tag, len(list))
		p.account.Enter(run)
		return
	}
	if p.lane == nil || p.lane.stream != st {
		p.lane = &lane{publisher: p, stream: st}
		p.lane.done = p.lane.appended
	}
	run.Lane = p.lane
	p.lane.push(laneRun{len(list), bytes})
	p.account.Enter(run)
	st.begin(p.tag, len(list), bytes)
	st.config().Stream.Append(list, p.lane.done)
	if st.held.Load() > int64(st.bound) {
		st.restrain(p)
	}
}

// abandon settles the runs that wait for a stream which is no longer configured.
func (p *publisher) abandon(st *storedStream) {
	p.order.Lock()
	defer p.order.Unlock()
	p.account.Abandon(func(of any) bool { // the tag may have moved to another stream since
		l, ok := of.(*lane)
		return ok && l.stream == st
	}, st.goneNotice(p.tag, 0))
}

// appended is called by the engine at the end of each append, in order.
func (l *lane) appended(err error) {
	p := l.publisher
	run := l.pop()
	refused, ok := l.stream.end(p.tag, run.count, run.bytes, err)
	switch {
	case refused != nil:
		p.account.Stored(l, native.NoticeFrame{Tag: p.tag.ID, Count: uint32(len(refused.Refused)), Code: native.CodeBadRequest, Reason: refused.Error()}, refused.Refused)
	case ok:
		p.account.Stored(l, native.NoticeFrame{}, nil)
	case l.stream.gone.Load():
		p.account.Stored(l, l.stream.goneNotice(p.tag, run.count), nil)
	default:
		p.account.Lost(l)
	}
}
