package pipeline

import (
	"context"
	"sync/atomic"

	"example.com/ferry"
	"example.com/ferry/format"
)

// stage is a compiled step. It passes messages to the next one.
type stage interface {
	// handle handles a message. g is nil before the messages are grouped.
	handle(r *run, g *group, m *message)
}

// statefulStage is a stage with a slot in each group.
type statefulStage interface {
	stage
	newSlot() slot
}

// timedStage is a statefulStage whose slots have a due time.
type timedStage interface {
	statefulStage
	// advance is called when the due time of the slot of g has come.
	advance(r *run, g *group)
}

// link is what all stages have.
type link struct {
	next  stage
	index int // of the slot
	*counts
}

// pass passes m on.
func (l *link) pass(r *run, g *group, m *message) {
	l.now.out++
	l.next.handle(r, g, m)
}

// slotOf returns the slot of a stage in g, which it makes on first use.
func slotOf[S slot](g *group, index int, of statefulStage) S {
	if g.slots[index] == nil {
		g.slots[index] = of.newSlot()
	}
	return g.slots[index].(S)
}

// counts are the counters of a step. now is used under the lock of the pipeline; publish copies it for readers.
type counts struct {
	text string
	now  struct{ in, out, skipped, late uint64 }

	in, out, skipped, late atomic.Uint64
}

func (c *counts) publish() {
	c.in.Store(c.now.in)
	c.out.Store(c.now.out)
	c.skipped.Store(c.now.skipped)
	c.late.Store(c.now.late)
}

// run is what the stages need while messages are handled. One goroutine uses it at a time.
type run struct {
	*Pipeline
	ctx      context.Context
	out      ferry.Sender
	input    *ferry.Message // nil when time has come
	inputs   uint64         // counts them
	results  int            // of input, unless the state is saved
	received message        // of input
	time     int64          // the clock, in Unix nanoseconds
	err      error          // first error of out
	dirty    []*group       // groups to save
	saved    []byte         // the state that was saved last
	typed    *format.ByType
}

// changed notes that the state of g is to be saved.
func (r *run) changed(g *group) {
	if r.saves && !g.dirty {
		g.dirty = true
		r.dirty = append(r.dirty, g)
	}
}
