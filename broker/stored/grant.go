package stored

import (
	"sync/atomic"

	"example.com/ferry/broker/internal/ledger"
	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/broker/internal/ranks"
	"example.com/ferry/engine"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// Tag is a tag that a stream may store. All methods may overlap.
type Tag struct {
	outlet.Tag
	stream    atomic.Pointer[Stream]
	appending atomic.Int32 // appends to the stream that have not ended
}

// Stream returns the stream that stores the tag, or nil.
func (t *Tag) Stream() *Stream { return t.stream.Load() }

// SetStream changes the stream.
func (t *Tag) SetStream(st *Stream) { t.stream.Store(st) }

// Appending reports whether messages wait to be stored.
func (t *Tag) Appending() bool { return t.appending.Load() > 0 }

// Grant has the credit of one publisher for one tag, and appends what it publishes to the stream of the tag. All methods may overlap.
type Grant struct {
	Account ledger.Account
	tag     *Tag

	order ranks.Mutex[ranks.Order] // held while a run is entered in the account and appended, so that both have the same order
	lane  *lane                    // to the stream of the last append; guarded by order
}

// Init sets the tag, the client, and its window in bytes. It is called before all other methods.
func (g *Grant) Init(t *Tag, c ledger.Client, window int) {
	g.tag = t
	g.Account.Init(c, window)
}

// lane carries the runs of a publisher to one stream.
type lane struct {
	grant  *Grant
	stream *Stream
	done   func(error) // appended

	mu      ranks.Mutex[ranks.Lane]
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
func (g *Grant) append(st *Stream, list []engine.Record, bytes int, c *ledger.Confirmations, done func(error)) {
	run := ledger.Run{Count: len(list), Bytes: bytes, Confirmations: c, Done: done}
	g.order.Lock()
	defer g.order.Unlock()
	if st.gone.Load() { // Retire has settled, or settles, the runs of the lane
		run.Notice = st.goneNotice(g.tag, len(list))
		g.Account.Enter(run)
		return
	}
	if g.lane == nil || g.lane.stream != st {
		g.lane = &lane{grant: g, stream: st}
		g.lane.done = g.lane.appended
	}
	run.Lane = g.lane
	g.lane.push(laneRun{len(list), bytes})
	g.Account.Enter(run)
	st.begin(g.tag, len(list), bytes)
	st.config().Stream.Append(list, g.lane.done)
	if st.held.Load() > int64(st.bound) {
		st.Restrain(&g.Account)
	}
}

// Abandon settles the runs that wait for a stream which is no longer configured.
func (g *Grant) Abandon(st *Stream) {
	g.order.Lock()
	defer g.order.Unlock()
	g.Account.Abandon(func(of any) bool { // the tag may have moved to another stream since
		l, ok := of.(*lane)
		return ok && l.stream == st
	}, st.goneNotice(g.tag, 0))
}

// appended is called by the engine at the end of each append, in order.
func (l *lane) appended(err error) {
	g := l.grant
	run := l.pop()
	refused, ok := l.stream.end(g.tag, run.count, run.bytes, err)
	switch {
	case refused != nil:
		g.Account.Stored(l, native.NoticeFrame{Tag: g.tag.ID, Count: uint32(len(refused.Refused)), Code: native.CodeBadRequest, Reason: refused.Error()}, refused.Refused)
	case ok:
		g.Account.Stored(l, native.NoticeFrame{}, nil)
	case l.stream.gone.Load():
		g.Account.Stored(l, l.stream.goneNotice(g.tag, run.count), nil)
	default:
		g.Account.Lost(l)
	}
}
