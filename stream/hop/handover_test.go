package hop

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
		k := keptSockets{keeps: true, closed: closedAtOnce}
		if got := k.keep(local{addr: row.addr}); got != row.want {
			t.Errorf("a connection over %s is kept: %t, want %t", row.addr.Network(), got, row.want)
		}
	}
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
