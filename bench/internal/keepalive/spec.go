package keepalive

import (
	"fmt"
	"net/netip"
	"time"
)

// Spec says what a client connects to.
type Spec struct {
	Wire  Wire
	Addr  string // IPv4 address and port of the server
	From  string // IPv4 address of the client's end; empty: the system chooses
	Conns int
	Size  int   // bytes of each body, at least 16
	Cores []int // where the client may run; none: on all
}

// Load is what a client sends: requests at a rate, one on each connection in turn; or without a rate on all connections, the
// next request after each response.
type Load struct {
	Rate   float64       // requests a second, in turn over all connections
	Once   int           // requests in flight: each connection carries one, and with the last response the window ends
	Warm   time.Duration // from the first request to the window
	Window time.Duration // what is answered in it, and at a rate what is due in it, is measured
	PIDs   []int         // processes whose CPU time in the window is asked for
}

// Report is the result of a Load.
type Report struct {
	Requests int           // answered in the window
	Window   time.Duration // how long that was in fact
	CPU      time.Duration // of Load.PIDs, meanwhile
	Times    Histogram     // from when a request was sent, or due, until its response was verified
	Late     Histogram     // from when a request was due until it was sent

	Failures int    // connections that failed and requests without a response, those before the window included
	Failure  string // the first of them
}

// Wire is the protocol that is spoken.
type Wire string

// The protocols.
const (
	HTTP1 Wire = "http1"
	Bolt  Wire = "bolt"
)

// wire encodes requests and responses and checks them.
type wire interface {
	// request returns a request that carries id. It is valid until the next call.
	request(id uint64) []byte
	// answered judges the response to request id that in begins with, and returns its length; 0 while it is not whole.
	checkResponse(in []byte, id uint64) (n int, err error)
	// respond appends the response to the request that in begins with, and returns that one's length; 0 while it is not whole.
	respond(dst, in []byte) (out []byte, n int, err error)
}

func newWire(w Wire, size int) (wire, error) {
	if size < markLen {
		return nil, fmt.Errorf("keepalive: bodies of %d bytes: want %d at least", size, markLen)
	}
	switch w {
	case HTTP1:
		return newHTTP1(size), nil
	case Bolt:
		return newBolt(size)
	}
	return nil, fmt.Errorf("keepalive: wire %q: want %q or %q", w, HTTP1, Bolt)
}

// addrPort parses an IPv4 address and a port.
func addrPort(s string) (netip.AddrPort, error) {
	a, err := netip.ParseAddrPort(s)
	if err != nil || !a.Addr().Is4() {
		return a, fmt.Errorf("keepalive: %q: want an IPv4 address and a port", s)
	}
	return a, nil
}
