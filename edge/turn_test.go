package edge

import (
	"context"
	"errors"
	"testing"

	"example.com/ferry/loop"
)

// TestTurn: a listener makes no turn while one of its loops stands.
func TestTurn(t *testing.T) {
	t.Parallel()
	group, err := loop.New(&loop.Config{Loops: 2})
	if err != nil {
		t.Fatal(err)
	}
	l := &Listener{group: group}
	blocked, end := make(chan struct{}), make(chan struct{})
	if err := group.Loops()[1].Post(func() { close(blocked); <-end }); err != nil {
		t.Fatal(err)
	}
	<-blocked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Turn(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("while a loop stands: %v", err)
	}
	close(end)
	if err := l.Turn(t.Context()); err != nil {
		t.Error(err)
	}
	if err := group.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
