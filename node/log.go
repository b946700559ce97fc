package node

import (
	"context"
	"io"
	"log/slog"

	"example.com/ferry/node/config"
)

// newLog returns the log that c describes; its level and format were checked.
func newLog(c config.Log, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level))
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// warningsOnly drops records below warning. The connections of the node's own clients start and end with the node, so their
// info records tell nothing new.
type warningsOnly struct{ slog.Handler }

// Enabled is slog.Handler's.
func (w warningsOnly) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}
