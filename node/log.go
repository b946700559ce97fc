package node

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/node/config"
)

// logOutput is the node's own log. Its level and format may change while loggers made of it are in use.
type logOutput struct {
	level slog.LevelVar
	json  atomic.Bool
	write io.Writer
	limit logLimit

	mu         sync.Mutex // guards the fields below and changes of level
	configured config.Level
	revert     *time.Timer // sets level to configured; nil if none will
	until      time.Time   // when revert does that
}

// newLog returns the log that c describes; its level and format were checked.
func newLog(c config.Log, w io.Writer) *logOutput {
	out := &logOutput{write: w}
	out.set(c)
	return out
}

// set applies the level and format of c.
func (l *logOutput) set(c config.Log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopRevert()
	l.configured = c.Level
	l.level.Set(slogLevel(c.Level))
	l.json.Store(c.Format == config.LogJSON)
}

func (l *logOutput) logger() *slog.Logger {
	o := &slog.HandlerOptions{Level: &l.level}
	return slog.New(&limitedHandler{&switchingHandler{l, slog.NewTextHandler(l.write, o), slog.NewJSONHandler(l.write, o)}, &l.limit, ""})
}

// switchingHandler writes records in the format that its output has at the time.
type switchingHandler struct {
	out        *logOutput
	text, json slog.Handler
}

func (h *switchingHandler) current() slog.Handler {
	if h.out.json.Load() {
		return h.json
	}
	return h.text
}

// Enabled is slog.Handler's.
func (h *switchingHandler) Enabled(_ context.Context, l slog.Level) bool {
	return l >= h.out.level.Level()
}

// Handle is slog.Handler's.
func (h *switchingHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.current().Handle(ctx, r)
}

// WithAttrs is slog.Handler's.
func (h *switchingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &switchingHandler{h.out, h.text.WithAttrs(attrs), h.json.WithAttrs(attrs)}
}

// WithGroup is slog.Handler's.
func (h *switchingHandler) WithGroup(name string) slog.Handler {
	return &switchingHandler{h.out, h.text.WithGroup(name), h.json.WithGroup(name)}
}

// warningsOnly drops records below warning. The connections of the node's own clients start and end with the node, so their
// info records tell nothing new.
type warningsOnly struct{ slog.Handler }

// Enabled is slog.Handler's.
func (w warningsOnly) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}
