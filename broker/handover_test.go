package broker

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/transport"
)

// closing is a connection that sends the time at which it is closed.
type closing struct {
	transport.Conn
	at chan<- time.Time
}

func (c closing) Close() error {
	c.at <- time.Now()
	return nil
}

// local is a connection with an address of this end.
type local struct {
	transport.Conn
	addr net.Addr
}

func (c local) LocalAddr() net.Addr { return c.addr }

// TestKeep checks which connections stay open: none that shares a socket of UDP with its listener, because the next process needs the address.
func TestKeep(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		addr net.Addr
		want bool
	}{
		{&net.TCPAddr{}, true},
		{&net.UnixAddr{Net: "unix"}, true},
		{&net.UDPAddr{}, false},
	} {
		b := Broker{stop: make(chan struct{}), kept: keptSockets{keeps: true, closed: closedAtOnce}}
		close(b.stop)
		if got := b.keepSocket(local{addr: row.addr}); got != row.want {
			t.Errorf("a connection over %s is kept: %t, want %t", row.addr.Network(), got, row.want)
		}
	}
}

// TestKeepDatagrams: a connection over UDP is closed when the broker has drained the other sessions, not before. Its client would dial while the
// listener reads the datagrams that are for the next process.
func TestKeepDatagrams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := Broker{stop: make(chan struct{})}
		conn := local{addr: &net.UDPAddr{}}
		if b.keepSocket(conn) {
			t.Error("kept, although no process takes over")
		}
		b.kept.keeps = true
		kept := make(chan bool, 1)
		go func() { kept <- b.keepSocket(conn) }()
		synctest.Wait()
		if len(kept) > 0 {
			t.Error("closed, or kept, before the drain has ended")
		}
		close(b.stop)
		if <-kept {
			t.Error("kept after the drain")
		}
	})
}

// TestCloseSpread closes connections one after another, and many within the time for all.
func TestCloseSpread(t *testing.T) {
	for _, row := range []struct {
		connections, atOnce int
		longest             time.Duration
	}{
		{0, 0, 0},
		{1, 1, time.Millisecond},
		{1000, 1, time.Second},
		{10_001, 2, closeWithin},
		{25_000, 3, closeWithin},
	} {
		synctest.Test(t, func(t *testing.T) {
			times := make(chan time.Time, row.connections)
			list := make([]transport.Conn, row.connections)
			for i := range list {
				list[i] = closing{at: times}
			}
			began := time.Now()
			closeSpread(list)
			if took := time.Since(began); took > row.longest {
				t.Errorf("%d connections: took %v, want at most %v", row.connections, took, row.longest)
			}
			if len(times) != row.connections {
				t.Errorf("%d connections: %d were closed", row.connections, len(times))
			}
			close(times)
			byTime := map[time.Time]int{}
			for at := range times {
				if byTime[at]++; byTime[at] > row.atOnce {
					t.Fatalf("%d connections: more than %d were closed at the same time", row.connections, row.atOnce)
				}
			}
		})
	}
}
