package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/engine"
	"example.com/ferry/internal/topic"
)

// stream is an opened stream. Two Opens of one name share it.
type stream struct {
	e        *Engine
	name     string
	code     string // short, and of no other stream of the process
	config   atomic.Pointer[engine.Config]
	appender *appender
	ending   chan struct{} // closed by end

	mu      sync.Mutex
	ended   error // why
	cursors map[*cursor]struct{}
	bucket  jetstream.KeyValue // of the cursors, after its first use
	removed ranges             // numbers that the stream had lacked when asked
	asked   time.Time
}

var _ engine.Stream = (*stream)(nil)

func newStream(e *Engine, c engine.Config, last uint64) (*stream, error) {
	s := &stream{
		e: e, name: c.Name, code: strconv.FormatUint(e.serial.Add(1), 36) + "-",
		ending: make(chan struct{}), cursors: make(map[*cursor]struct{}),
	}
	s.config.Store(&c)
	var err error
	s.appender, err = newAppender(s, last)
	return s, err
}

// view returns a stream for requests to the server only.
func (e *Engine) view(name string) *stream {
	s := &stream{e: e, name: name, ending: make(chan struct{})}
	s.config.Store(&engine.Config{Name: name})
	return s
}

// drain stores what was appended.
func (s *stream) drain(ctx context.Context) error { return s.appender.drain(ctx) }

// end closes the stream and its cursors. Their methods return err from now on.
func (s *stream) end(err error) {
	s.mu.Lock()
	if s.ended != nil {
		s.mu.Unlock()
		return
	}
	s.ended = err
	cursors := make([]*cursor, 0, len(s.cursors))
	for c := range s.cursors {
		cursors = append(cursors, c)
	}
	s.mu.Unlock()
	if errors.Is(err, engine.ErrClosed) { // store the positions while the connection is there
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		for _, c := range cursors {
			_ = c.Close(ctx) // without its last position the next opener reads some records again
		}
	}
	close(s.ending)
	s.appender.close(err)
}

func (s *stream) endError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Append implements engine.Stream.
func (s *stream) Append(records []engine.Record, done func(error)) { s.appender.append(records, done) }

// Duplicates implements engine.DuplicateCounter.
func (s *stream) Duplicates() uint64 { return s.appender.repeated.Load() }

// Pending implements engine.Stream.
func (s *stream) Pending() int {
	pending, _ := s.appender.state()
	return pending
}

// js returns the name of the JetStream stream.
func (s *stream) js() string { return streamPrefix + s.name }

// Info implements engine.Stream.
func (s *stream) Info(ctx context.Context) (engine.Info, error) {
	info, err := s.jsInfo(ctx)
	if err != nil {
		return engine.Info{}, err
	}
	return s.e.info(info), nil
}

func (s *stream) jsInfo(ctx context.Context) (*jetstream.StreamInfo, error) {
	info, err := request(ctx, s.e, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		js, err := s.e.js.Stream(ctx, s.js())
		if err != nil {
			return nil, err
		}
		return js.CachedInfo(), nil
	})
	return info, streamError(err)
}

// info adds what this process knows of the stream to what the server knows.
func (e *Engine) info(js *jetstream.StreamInfo) engine.Info {
	config, _ := configOf(js.Config)
	i := engine.Info{
		Config: config, Records: js.State.Msgs, Bytes: js.State.Bytes, First: js.State.FirstSeq, Last: js.State.LastSeq,
	}
	if i.Records == 0 {
		i.First = i.Last + 1
	}
	if c := js.Cluster; c != nil {
		if c.Leader != "" {
			i.Replicas = append(i.Replicas, engine.Replica{Name: c.Leader, Leader: true, Current: true})
		}
		for _, r := range c.Replicas {
			i.Replicas = append(i.Replicas, engine.Replica{Name: r.Name, Current: r.Current && !r.Offline, Behind: r.Lag})
		}
		slices.SortFunc(i.Replicas, func(a, b engine.Replica) int { return strings.Compare(a.Name, b.Name) })
	}
	e.mu.Lock()
	s := e.streams[config.Name]
	e.mu.Unlock()
	if s != nil {
		i.Pending, i.Err = s.appender.state()
	}
	return i
}

// Get implements engine.Stream.
func (s *stream) Get(ctx context.Context, sequence uint64) (engine.Record, error) {
	if sequence == 0 {
		return engine.Record{}, engine.ErrNoRecord
	}
	m, err := request(ctx, s.e, func(ctx context.Context) (*natsgo.Msg, error) {
		return s.direct(ctx, directRequest{Sequence: sequence})
	})
	if err != nil {
		return engine.Record{}, err
	}
	return s.directRecord(m)
}

// Remove implements engine.Stream.
func (s *stream) Remove(ctx context.Context, sequence uint64) error {
	in := struct {
		Sequence uint64 `json:"seq"`
		NoErase  bool   `json:"no_erase"` // leave the bytes to the store's compaction
	}{sequence, true}
	_, err := request(ctx, s.e, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.e.api(ctx, "$JS.API.STREAM.MSG.DELETE."+s.js(), in, nil)
	})
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == codeNoSequence || api.ErrorCode == codeDeleteFailed) {
		return engine.ErrNoRecord
	}
	return streamError(err)
}

const (
	codeNoSequence   = 10043
	codeDeleteFailed = 10057 // of a message that is not there
)

// Purge implements engine.Stream.
func (s *stream) Purge(ctx context.Context, filter string, before uint64) (uint64, error) {
	subjects := []string{""}
	if filter != "" {
		if err := topic.CheckFilter(filter); err != nil {
			return 0, fmt.Errorf("engine: purge of stream %q: %w", s.name, err)
		}
		subjects = filterSubjects(filter)
	}
	var removed uint64
	for _, subject := range subjects {
		n, err := s.purge(ctx, subject, before)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// purge removes the messages on a subject, or all, below a sequence number, or all.
func (s *stream) purge(ctx context.Context, subject string, before uint64) (uint64, error) {
	in := struct {
		Subject  string `json:"filter,omitempty"`
		Sequence uint64 `json:"seq,omitempty"`
	}{subject, before}
	n, err := request(ctx, s.e, func(ctx context.Context) (uint64, error) {
		var out struct {
			Purged uint64 `json:"purged"`
		}
		err := s.e.api(ctx, "$JS.API.STREAM.PURGE."+s.js(), in, &out)
		return out.Purged, err
	})
	return n, streamError(err)
}

// streamError returns engine.ErrNoStream for the server's error.
func streamError(err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return engine.ErrNoStream
	}
	return err
}
