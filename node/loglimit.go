package node

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// The bounds of warnings and errors in the node's log. A fault that lasts, or a client that fails again and again, would fill the disk.
const (
	logBurst  = 5           // records of one kind within a period that are written
	logPeriod = time.Minute // then one line says how many more there were
	logKinds  = 1024        // kinds that are counted apart; further ones are one kind
)

// logLimit bounds the warnings and errors of a log: of each kind, the first logBurst of a period are written, the others are counted,
// and the count is written at the period's end. The message, and the value of the first attribute if that names a part of the node,
// make the kind. At level debug everything is written.
type logLimit struct {
	mu    sync.Mutex
	kinds map[logKind]*logCount
}

type logKind struct {
	level   slog.Level
	message string
	part    string // such as the stream
}

// logCount counts the records of a kind in a period.
type logCount struct {
	written, left int
	write         func(left int) // the last record that was left out, as a summary
}

// limitedHandler passes on what the limit allows.
type limitedHandler struct {
	slog.Handler
	limit *logLimit
}

// Handle is slog.Handler's.
func (h *limitedHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn || h.Enabled(ctx, slog.LevelDebug) {
		return h.Handler.Handle(ctx, r)
	}
	kind := logKind{level: r.Level, message: r.Message}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "addr" && a.Key != "err" { // of these, one fault has many
			kind.part = a.Value.String()
		}
		return false
	})
	if !h.limit.take(kind, func(left int) {
		summary := r.Clone()
		summary.Time = time.Now()
		summary.Add("more", left, "within", logPeriod)
		_ = h.Handler.Handle(context.Background(), summary) // there is no other place for the error of the log
	}) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs is slog.Handler's.
func (h *limitedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &limitedHandler{h.Handler.WithAttrs(attrs), h.limit}
}

// WithGroup is slog.Handler's.
func (h *limitedHandler) WithGroup(name string) slog.Handler {
	return &limitedHandler{h.Handler.WithGroup(name), h.limit}
}

// take reports whether a record of this kind is written. Otherwise it is counted, and summary is called at the end of the period, unless
// a later record of the kind is left out, too.
func (l *logLimit) take(kind logKind, summary func(left int)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.kinds[kind]
	if c == nil && len(l.kinds) >= logKinds {
		kind = logKind{level: kind.level}
		c = l.kinds[kind]
	}
	if c == nil {
		c = &logCount{}
		if l.kinds == nil {
			l.kinds = map[logKind]*logCount{}
		}
		l.kinds[kind] = c
		time.AfterFunc(logPeriod, func() { l.end(kind, c) })
	}
	if c.written < logBurst {
		c.written++
		return true
	}
	c.left++
	c.write = summary
	return false
}

// end ends a period. While records are left out, the next one begins, in which they all are: the summaries tell of them.
func (l *logLimit) end(kind logKind, c *logCount) {
	l.mu.Lock()
	left, write := c.left, c.write
	c.left, c.write = 0, nil
	if left == 0 {
		delete(l.kinds, kind)
	} else {
		c.written = logBurst
		time.AfterFunc(logPeriod, func() { l.end(kind, c) })
	}
	l.mu.Unlock()
	if left > 0 {
		write(left)
	}
}
