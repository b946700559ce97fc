package upstream_test

import (
	"context"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/upstream"
)

// loops returns a group that is shut down when the test ends.
func loops(t testing.TB, n int) *loop.Group {
	t.Helper()
	g, err := loop.New(&loop.Config{Loops: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return g
}

// cluster returns a cluster for one loop.
func cluster(t testing.TB, c *upstream.Config) *upstream.Cluster {
	t.Helper()
	made, err := upstream.New(c, loops(t, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
