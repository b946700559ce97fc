package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry"
	"example.com/ferry/format"
	"example.com/ferry/internal/clock"
)

// Config describes a pipeline.
type Config struct {
	// Name is the name of the function, for logs and for the IDs of saved results.
	Name string

	// Steps are the steps, in order.
	Steps []Step

	// Observe are the tag filters of the function: the wildcards of publish stand for theirs.
	Observe []string

	// MaxGroups bounds the groups. Messages of further groups are counted and dropped. Zero means 10000.
	MaxGroups int

	// GroupIdle drops a group, with its state, that has had no message for this long, and holds no window and no message. Zero means
	// never.
	GroupIdle time.Duration

	// State is the tag below which the state is saved: one tag for each group. It belongs to a stream that is stored at least once,
	// and the messages of the function come from a durable. Empty means that the state is in memory only.
	State string

	// Done returns a function that reports whether the durable never delivers the message with a sequence number again, because its
	// stored position says that it is done; nil if that is not known now. A group with many keys asks, to forget those. Without Done,
	// and where messages of more than 32,768 keys are not done at a time, messages may count twice after a crash.
	Done func(ctx context.Context) func(sequence uint64) bool

	// Formats read the messages. They must include JSON if a step makes records.
	Formats []format.Format

	// Output publishes results when time has come, and all results of a pipeline with State.
	Output Output

	// Log receives what cannot be published or saved. Nil means slog.Default.
	Log *slog.Logger
}

// Output publishes messages. A stream.Client is one.
type Output interface {
	ferry.Sender
	// Flush waits until the messages that were sent are stored. Its error names those that were dropped.
	Flush(ctx context.Context) error
}

// defaultMaxGroups is the MaxGroups of a Config that has none.
const defaultMaxGroups = 10_000

// Pipeline is a ferry.BatchHandler that passes messages through steps. Its methods may overlap; it handles one message at a time.
type Pipeline struct {
	cfg      Config
	log      *slog.Logger
	saves    bool // state is saved
	slots    int  // stages with state
	first    stage
	stateful []statefulStage // by slot
	timed    []timedStage    // by slot; nil if the stage has no due time
	counts   []*counts
	mark     uint64 // fingerprint of the steps
	ctx      context.Context
	cancel   context.CancelFunc

	mu      sync.Mutex
	clock   clock.Timeline // of windows of wall time
	run     run
	groups  groups
	refused uint64 // messages of groups that had no room
	failed  uint64 // results that were not published
	timer   *time.Timer
	armed   int64 // when the timer fires; never if it does not

	shown struct{ groups, open, refused, failed atomic.Uint64 }
}

var _ ferry.BatchHandler = (*Pipeline)(nil)

// New returns a pipeline. The error is an invalid.Errors, whose fields begin with "pipeline".
func New(cfg Config) (*Pipeline, error) {
	p, err := compile(&cfg)
	if err != nil {
		return nil, err
	}
	if p.log = cfg.Log; p.log == nil {
		p.log = slog.Default()
	}
	p.saves = cfg.State != "" && p.slots > 0
	if p.groups.limit = cfg.MaxGroups; p.groups.limit == 0 {
		p.groups.limit = defaultMaxGroups
	}
	p.groups.idle = cfg.GroupIdle
	typed, err := format.NewByType(cfg.Formats)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	p.groups.byKey = map[string]*group{}
	p.groups.recent.Init()
	p.run.Pipeline, p.run.typed = p, typed
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.armed = never
	return p, nil
}

// Close ends what the pipeline does when time has come. Windows that are open are dropped, unless the state is saved.
func (p *Pipeline) Close() error {
	p.cancel()
	return nil
}

// Handle handles one message.
func (p *Pipeline) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.begin(ctx, out)
	r.handle(in)
	return p.end()
}

// HandleBatch handles messages in order. An error means that none of them is done, unless it is a ferry.BatchError: it names the
// messages whose results are too large.
func (p *Pipeline) HandleBatch(ctx context.Context, in []ferry.Message, out ferry.Sender) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.begin(ctx, out)
	var tooLarge ferry.BatchError
	for i := range in {
		r.handle(&in[i])
		if errors.Is(r.err, ferry.ErrTooLarge) {
			if tooLarge == nil {
				tooLarge = ferry.BatchError{}
			}
			tooLarge[i], r.err = r.err, nil
		}
	}
	if err := p.end(); err != nil || tooLarge == nil {
		return err
	}
	return tooLarge
}

// begin prepares the run of a call. The caller holds the lock.
func (p *Pipeline) begin(ctx context.Context, out ferry.Sender) *run {
	r := &p.run
	r.ctx, r.out, r.input, r.time, r.err = ctx, out, nil, p.clock.Now(), nil
	return r
}

func (r *run) handle(in *ferry.Message) {
	r.input, r.results = in, 0
	r.inputs++
	r.received = message{tag: in.Tag, typ: in.Type, payload: in.Payload, time: in.Time, key: in.Key}
	r.first.handle(r, nil, &r.received)
	r.input, r.received = nil, message{}
}

// end saves what has changed, sets the timer and publishes the counters. The caller holds the lock.
func (p *Pipeline) end() error {
	r := &p.run
	if r.err == nil && len(r.dirty) > 0 {
		r.err = r.save()
	}
	r.ctx, r.out = nil, nil
	p.arm()
	for _, c := range p.counts {
		c.publish()
	}
	p.shown.groups.Store(uint64(len(p.groups.byKey)))
	p.shown.open.Store(uint64(p.groups.open))
	p.shown.refused.Store(p.refused)
	p.shown.failed.Store(p.failed)
	return r.err
}

// retryDelay is the time after which a result that could not be published when time had come is published again.
const retryDelay = time.Second

// arm sets the timer to the earliest due. The caller holds the lock.
func (p *Pipeline) arm() {
	due := int64(never)
	if g := p.groups.next(); g != nil {
		due = g.due
	}
	if p.run.err != nil && len(p.run.dirty) > 0 {
		due = min(due, p.run.time+int64(retryDelay))
	}
	if due == p.armed || p.ctx.Err() != nil {
		return
	}
	p.armed = due
	if due == never {
		p.timer.Stop()
		return
	}
	after := time.Duration(max(0, due-p.clock.Now()))
	if p.timer == nil {
		p.timer = time.AfterFunc(after, p.tick)
		return
	}
	p.timer.Reset(after)
}

// tick is called by the timer.
func (p *Pipeline) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	p.armed = never
	r := p.begin(p.ctx, p.cfg.Output)
	for g := p.groups.next(); g != nil && g.due <= r.time; g = p.groups.next() {
		r.changed(g)
		r.advance(g)
		r.groups.updated(g)
		switch {
		case !p.saves && g.idle(r.time):
			p.groups.remove(g)
		case r.groups.expired(g, r.time):
			r.drop(g)
		}
	}
	if err := p.end(); err != nil && p.ctx.Err() == nil {
		p.log.Error("pipeline: a result was not published", "function", p.cfg.Name, "err", err)
	}
}

// advance calls the stages of g whose time has come.
func (r *run) advance(g *group) {
	for i, s := range r.timed {
		if s != nil && g.slots[i] != nil && g.slots[i].due() <= r.time {
			s.advance(r, g)
		}
	}
}

// publish publishes a result, or keeps it until the state of its group is saved.
func (r *run) publish(g *group, out *result) {
	if r.saves {
		kept := *out
		kept.payload, kept.key = append([]byte(nil), out.payload...), append([]byte(nil), out.key...)
		g.pending = append(g.pending, kept)
		return
	}
	m := ferry.Message{Tag: out.tag, Type: out.typ, Payload: out.payload, Time: out.time, Key: out.key}
	if r.slots == 0 && r.input.Sequence > 0 {
		if m.ID = fmt.Sprintf("%s-%d", r.cfg.Name, r.input.Sequence); r.results > 0 { // a message has several results behind flat_map
			m.ID += fmt.Sprintf(".%d", r.results)
		}
		r.results++
	}
	if err := r.out.Send(r.ctx, m); err != nil {
		r.failed++
		if r.err == nil {
			r.err = err
		}
	}
}

// drop removes a group, and its saved state.
func (r *run) drop(g *group) {
	r.groups.remove(g)
	if r.saves {
		r.changed(g)
	}
}
