package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/internal/topic"
)

// The bounds of /api/streams.
const (
	storedTimeout  = 10 * time.Second // for the engine's part of a response
	maxReaders     = 4                // requests that read records, at once
	defaultRecords = 50               // of a response
	maxRecords     = 200
	maxReplay      = 1000 // sequence numbers of a request
)

// storedStreams serves /api/streams.
type storedStreams struct {
	streams Streams
	show    shown
	readers atomic.Int32
}

// routes adds the routes. Those that change something need a token.
func (s *storedStreams) routes(mux *http.ServeMux, cfg Config) {
	handle := func(pattern string, serve func(ctx context.Context, r *http.Request) (any, error)) {
		var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), storedTimeout)
			defer cancel()
			v, err := serve(ctx, r)
			if err != nil {
				writeStoredError(w, err)
				return
			}
			writeJSON(w, v)
		})
		if strings.HasPrefix(pattern, "POST ") {
			h = requireAction(cfg, h)
		}
		mux.Handle(pattern, h)
	}
	handle("GET /api/streams", func(ctx context.Context, _ *http.Request) (any, error) { return s.state(ctx) })
	handle("GET /api/streams/{stream}", s.one)
	handle("GET /api/streams/{stream}/messages", s.messages)
	handle("POST /api/streams/{stream}/replay", s.replay)
	handle("POST /api/streams/{stream}/purge", s.purge)
	handle("POST /api/streams/{stream}/durables/{durable}/delete", s.deleteDurable)
	handle("POST /api/streams/{stream}/durables/{durable}/reset", s.resetDurable)
}

// queryError is a wrong parameter of a request.
type queryError struct{ name, want string }

func (e *queryError) Error() string { return fmt.Sprintf("%s: want %s", e.name, e.want) }

var errReaders = fmt.Errorf("%d requests read streams now: try again", maxReaders)

func writeStoredError(w http.ResponseWriter, err error) {
	var query *queryError
	status := http.StatusInternalServerError
	switch {
	case errors.As(err, &query):
		status = http.StatusBadRequest
	case errors.Is(err, ErrNoStream), errors.Is(err, ErrNoDurable), errors.Is(err, engine.ErrNoRecord):
		status = http.StatusNotFound
	case errors.Is(err, ErrInUse):
		status = http.StatusConflict
	case errors.Is(err, errReaders), errors.Is(err, context.DeadlineExceeded), errors.Is(err, engine.ErrClosed):
		status = http.StatusServiceUnavailable
	}
	writeText(w, status, err.Error())
}

func (s *storedStreams) state(ctx context.Context) (StreamsState, error) {
	state, err := s.streams.State(ctx)
	state.normalize()
	return state, err
}

func (s *storedStreams) one(ctx context.Context, r *http.Request) (any, error) {
	state, err := s.state(ctx)
	if err != nil {
		return nil, err
	}
	for _, st := range state.Streams {
		if st.Name == r.PathValue("stream") {
			return st, nil
		}
	}
	return nil, noStream(r)
}

func noStream(r *http.Request) error {
	return fmt.Errorf("%w: %s: GET /api/streams lists them", ErrNoStream, printable(r.PathValue("stream")))
}

// messages serves the records of a stream: from a sequence number on, or the last ones before one. Without from and before, it
// serves the newest.
func (s *storedStreams) messages(ctx context.Context, r *http.Request) (any, error) {
	stream, ok := s.streams.Stream(r.PathValue("stream"))
	if !ok {
		return nil, noStream(r)
	}
	query, err := recordsQueryOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	if s.readers.Add(1) > maxReaders {
		s.readers.Add(-1)
		return nil, errReaders
	}
	defer s.readers.Add(-1)
	found, err := readRecords(ctx, stream, query)
	if err != nil {
		return nil, err
	}
	return s.page(found), nil
}

func recordsQueryOf(values url.Values) (q recordsQuery, err error) {
	q = recordsQuery{limit: defaultRecords, filter: values.Get("filter")}
	if q.from, err = number(values, "from"); err != nil {
		return q, err
	}
	if q.before, err = number(values, "before"); err != nil {
		return q, err
	}
	if q.from > 0 && q.before > 0 {
		return q, &queryError{"from", "either from or before"}
	}
	limit, err := number(values, "limit")
	if err != nil {
		return q, err
	}
	if limit > 0 {
		q.limit = int(min(limit, maxRecords))
	}
	return q, checkFilter(q.filter)
}

func checkFilter(filter string) error {
	if filter == "" {
		return nil
	}
	if err := topic.CheckFilter(filter); err != nil {
		return &queryError{"filter", "a filter of tags: " + err.Error()}
	}
	return nil
}

// number returns a parameter; 0 if it is missing.
func number(values url.Values, name string) (uint64, error) {
	text := values.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, &queryError{name, "a number, not " + printable(text)}
	}
	return n, nil
}

func (s *storedStreams) replay(ctx context.Context, r *http.Request) (any, error) {
	var sequences []uint64
	for _, text := range r.URL.Query()["sequence"] {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return nil, &queryError{"sequence", "a sequence number, not " + printable(text)}
		}
		sequences = append(sequences, n)
	}
	if len(sequences) > maxReplay {
		return nil, &queryError{"sequence", fmt.Sprintf("at most %d of them, not %d", maxReplay, len(sequences))}
	}
	n, err := s.streams.Replay(ctx, r.PathValue("stream"), sequences)
	return map[string]int{"replayed": n}, err
}

func (s *storedStreams) purge(ctx context.Context, r *http.Request) (any, error) {
	stream, ok := s.streams.Stream(r.PathValue("stream"))
	if !ok {
		return nil, noStream(r)
	}
	values := r.URL.Query()
	before, err := number(values, "before")
	if err != nil {
		return nil, err
	}
	filter := values.Get("filter")
	if err := checkFilter(filter); err != nil {
		return nil, err
	}
	n, err := stream.Purge(ctx, filter, before)
	return map[string]uint64{"removed": n}, err
}

func (s *storedStreams) deleteDurable(ctx context.Context, r *http.Request) (any, error) {
	return struct{}{}, s.streams.DeleteDurable(ctx, r.PathValue("stream"), r.PathValue("durable"))
}

func (s *storedStreams) resetDurable(ctx context.Context, r *http.Request) (any, error) {
	text := r.URL.Query().Get("from")
	from := engine.Start{At: engine.AtFirst}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && n > 0 {
		from = engine.Start{At: engine.AtSequence, Sequence: n}
	} else if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		from = engine.Start{At: engine.AtTime, Time: at.UnixNano()}
	} else if text != "first" {
		return nil, &queryError{"from", "first, a sequence number from 1, or a time such as 2026-11-22T10:00:00Z, not " + printable(text)}
	}
	return struct{}{}, s.streams.ResetDurable(ctx, r.PathValue("stream"), r.PathValue("durable"), from)
}
