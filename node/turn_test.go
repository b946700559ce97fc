package node

import (
	"context"
	"errors"
	"testing"

	"example.com/ferry/node/config"
)

// standing is a listener with an event loop that makes no step.
type standing struct{ server }

func (standing) Turn(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// TestTurnLooksAtEachListener: a supervisor hears nothing of a node while a loop of a listener stands, whatever protocol its clients speak.
func TestTurnLooksAtEachListener(t *testing.T) {
	cfg := quiet(t)
	for _, scheme := range []string{"mqtt", "http"} {
		cfg.Listeners = append(cfg.Listeners, config.Listener{Address: scheme + "://127.0.0.1:0", Validate: config.ValidateFull})
	}
	n := build(t, cfg)
	t.Cleanup(n.Close)
	if err := n.Turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	edges := 0
	for _, l := range n.listeners {
		if !l.cfg.Edge() {
			continue
		}
		edges++
		served := l.served
		if _, ok := served.(turner); !ok {
			t.Errorf("%s: the loops of a %T are not looked at", l.cfg.Address, served)
		}
		l.served = standing{served}
		if err := n.Turn(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v while a loop stands", l.cfg.Address, err)
		}
		l.served = served
	}
	if edges != 2 {
		t.Errorf("%d listeners, want 2", edges)
	}
}
