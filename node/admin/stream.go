package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/topic"
)

// The bounds of /api/stream. All readers together make the node hold at most maxStreams * maxWaitingBytes.
const (
	maxStreams      = 32      // readers at once
	maxFilters      = 16      // of one reader
	maxWaiting      = 256     // events in one reader's queue; beyond it the oldest are dropped, and the reader gets their count
	maxWaitingBytes = 1 << 20 // bytes in one reader's queue; as above
	maxBatch        = 64      // events between two flushes
)

// Tap calls deliver with each message whose tag matches one of filters, until ctx ends. The message is borrowed until
// deliver returns, which is at once.
type Tap func(ctx context.Context, filters []string, deliver func(*ferry.Message)) error

// liveMessages serves /api/stream.
type liveMessages struct {
	tap  Tap
	show shown
	open atomic.Int32
}

// ServeHTTP serves GET /api/stream?tag=FILTER&tag=FILTER with one event for each message. The event "dropped" has the
// number of messages that were dropped as the reader was too slow.
func (s *liveMessages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	filters := r.URL.Query()["tag"]
	if len(filters) == 0 || len(filters) > maxFilters {
		writeText(w, http.StatusBadRequest, fmt.Sprintf("want 1 to %d tag filters: /api/stream?tag=sensors/%%23", maxFilters))
		return
	}
	for _, f := range filters {
		if err := topic.CheckFilter(f); err != nil {
			writeText(w, http.StatusBadRequest, err.Error())
			return
		}
	}
	if s.open.Add(1) > maxStreams {
		s.open.Add(-1)
		writeText(w, http.StatusServiceUnavailable, fmt.Sprintf("%d streams are open: close one first", maxStreams))
		return
	}
	defer s.open.Add(-1)

	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	queue := &eventQueue{ready: make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() { ended <- s.tap(ctx, filters, func(m *ferry.Message) { queue.push(s.event(m)) }) }()
	writeEvents(ctx, w, queue, ended)
	cancel()
}

// idleEvent is sent every idleInterval, so that both ends notice when the other is gone.
const (
	idleEvent    = "event: idle\ndata: 0\n\n"
	idleInterval = 5 * time.Second
)

// writeEvents sends the events of queue until ctx ends, the tap has ended, or the reader is gone.
func writeEvents(ctx context.Context, w http.ResponseWriter, queue *eventQueue, ended <-chan error) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	idle := time.NewTicker(idleInterval)
	defer idle.Stop()
	event := []byte(idleEvent)
	for {
		if out.SetWriteDeadline(time.Now().Add(10*time.Second)) != nil {
			return
		}
		for n := 0; event != nil && n < maxBatch; n++ {
			if _, err := w.Write(event); err != nil {
				return
			}
			event = queue.pop()
		}
		if n := queue.takeDropped(); n > 0 {
			fmt.Fprintf(w, "event: dropped\ndata: %d\n\n", n)
		}
		if out.Flush() != nil {
			return
		}
		if event != nil {
			continue
		}
		select {
		case <-queue.ready:
			event = queue.pop()
		case <-idle.C:
			event = []byte(idleEvent)
		case <-ctx.Done():
			return
		case err := <-ended:
			if err != nil {
				reason, _ := json.Marshal(err.Error())
				fmt.Fprintf(w, "event: failed\ndata: %s\n\n", reason)
				_ = out.Flush()
			}
			return
		}
	}
}

// event returns m as one event: {"tag","time","source","type","size","payload"}; time is Unix milliseconds. Its
// capacity is close to its length.
func (s *liveMessages) event(m *ferry.Message) []byte {
	tag, _ := json.Marshal(m.Tag)
	var b []byte
	b = fmt.Appendf(b, `data: {"tag":%s,"time":%.3f,"source":%d,"type":%q,"size":%d`, tag, float64(m.Time)/1e6, m.Source, s.show.typeName(m.Type), len(m.Payload))
	if len(m.Payload) <= maxShown {
		b = append(b, `,"payload":`...)
		b = s.show.payload(b, m.Type, m.Payload)
	}
	b = append(b, "}\n\n"...)
	if cap(b) > len(b)+len(b)/8 {
		return bytes.Clone(b)
	}
	return b
}
