package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

// dialedNode returns a listener, its first connection, and the client that has dialed it. The caller closes client and listener.
func dialedNode(t *testing.T) (transport.Listener, *scriptedNode, *stream.Client) {
	t.Helper()
	network := memory.New(nil)
	l, err := network.Listen(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	dialed := make(chan *stream.Client, 1)
	go func() {
		c, err := stream.Dial(t.Context(), network, "node", quiet(nil))
		if err != nil {
			t.Error(err)
		}
		dialed <- c
	}()
	node := welcomeNext(t, l, 1)
	client := <-dialed
	if client == nil {
		t.FailNow()
	}
	return l, node, client
}

// TestRedial: a client dials at once after a node has announced its end, since another process may have the node's sockets. It pauses if the
// connection is lost, and if it was short: the next node may end at once, too.
func TestRedial(t *testing.T) {
	for _, row := range []struct {
		name     string
		announce bool
		lasts    time.Duration
		atOnce   bool
	}{
		{"the node ends", true, time.Second, true},
		{"the node ends at once", true, 0, false},
		{"the connection is lost", false, time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, first, client := dialedNode(t)
			defer l.Close()
			defer client.Close()
			time.Sleep(row.lasts)
			if row.announce {
				first.write(native.AppendGoaway(nil, native.GoawayFrame{Code: native.CodeDraining}))
			}
			_ = first.conn.Close()
			ended := time.Now()
			second := welcomeNext(t, l, 2)
			if waited := time.Since(ended); (waited == 0) != row.atOnce {
				t.Errorf("%s: dialed after %v, want at once: %v", row.name, waited, row.atOnce)
			}
			_ = second.conn.Close()
		})
	}
}

// TestRedialAfterEachStop: failures to dial after earlier stops do not lengthen the pause after the next one.
func TestRedialAfterEachStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, node, client := dialedNode(t)
		defer l.Close()
		defer client.Close()
		for stop := range 6 {
			time.Sleep(time.Second)
			node.write(native.AppendGoaway(nil, native.GoawayFrame{Code: native.CodeDraining}))
			_ = node.conn.Close()
			refused, err := l.Accept(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_ = refused.Close()
			began := time.Now()
			node = welcomeNext(t, l, uint32(stop)+2)
			if waited := time.Since(began); waited < 2*time.Millisecond || waited > 8*time.Millisecond {
				t.Errorf("stop %d: the second attempt came after %v, want 2.5 to 7.5 ms", stop, waited)
			}
		}
		_ = node.conn.Close()
	})
}

// TestRedialAfterLosses: the pause after a lost connection depends on how long that connection was, not on how many there were before.
func TestRedialAfterLosses(t *testing.T) {
	for _, row := range []struct {
		name        string
		lasts       time.Duration
		least, most time.Duration // of the last pause
	}{
		{"long connections", time.Second, 2 * time.Millisecond, 8 * time.Millisecond}, // MinBackoff, less and more by half
		{"short connections", 0, 2 * time.Second, 8 * time.Second},                    // MaxBackoff
	} {
		synctest.Test(t, func(t *testing.T) {
			l, node, client := dialedNode(t)
			defer l.Close()
			defer client.Close()
			var waited time.Duration
			for i := range uint32(15) {
				time.Sleep(row.lasts)
				_ = node.conn.Close()
				ended := time.Now()
				node = welcomeNext(t, l, i+2)
				waited = time.Since(ended)
			}
			if waited < row.least || waited > row.most {
				t.Errorf("%s: dialed after %v, want %v to %v", row.name, waited, row.least, row.most)
			}
			_ = node.conn.Close()
		})
	}
}
