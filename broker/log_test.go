package broker_test

import (
	"context"
	"log/slog"
	"testing"

	"example.com/ferry/broker"
)

// snapshotLog is a log handler that reads the broker's figures with each record.
type snapshotLog struct {
	slog.Handler
	figures func() broker.Snapshot
}

func (l *snapshotLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *snapshotLog) WithAttrs([]slog.Attr) slog.Handler       { return l }

func (l *snapshotLog) Handle(context.Context, slog.Record) error {
	l.figures()
	return nil
}

// TestLogOutsideTheLock: the broker holds no lock while it logs, so that a slow log does not stop all clients.
func TestLogOutsideTheLock(t *testing.T) {
	l := &snapshotLog{Handler: slog.DiscardHandler}
	var b *broker.Broker
	l.figures = func() broker.Snapshot { return b.Snapshot() }
	b, addr := serve(t, broker.Config{Log: slog.New(l)})
	greet(t, addr).settled()
}
