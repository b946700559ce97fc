package discovery

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// ttlObserver reads along what name servers send to a net.Resolver, which does not return the TTLs of records. So hosts files,
// search lists, retries and the fallback to TCP stay those of the standard library. A forged response can at most cause a
// lookup too early: a TTL only shortens the interval.
type ttlObserver struct {
	open func(ctx context.Context, network, address string) (net.Conn, error)

	mu    sync.Mutex
	least uint32 // seconds
	seen  bool   // least is set
}

// dial opens a connection to a name server. The resolver tells UDP from TCP by the type of the connection, so the types below
// embed those of package net.
func (o *ttlObserver) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := o.open(ctx, network, address)
	switch c := conn.(type) {
	case *net.UDPConn:
		return &observedDatagrams{c, o}, err
	case *net.TCPConn:
		return &observedStream{TCPConn: c, observer: o}, err
	}
	return conn, err
}

// shortest returns the shortest TTL so far, at least minTTL; 0 if there was none.
func (o *ttlObserver) shortest() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.seen {
		return 0
	}
	return max(time.Duration(o.least)*time.Second, minTTL)
}

// observe reads a message of a name server (RFC 1035, section 4). Messages that are malformed have no TTL.
func (o *ttlObserver) observe(message []byte) {
	var p dnsmessage.Parser
	if h, err := p.Start(message); err != nil || !h.Response || p.SkipAllQuestions() != nil {
		return
	}
	for {
		h, err := p.AnswerHeader()
		if err != nil || p.SkipAnswer() != nil {
			return
		}
		if h.TTL >= 1<<31 {
			h.TTL = 0 // RFC 2181, section 8
		}
		o.mu.Lock()
		if !o.seen || h.TTL < o.least {
			o.least, o.seen = h.TTL, true
		}
		o.mu.Unlock()
	}
}

// observedDatagrams is a connection to a name server over UDP.
type observedDatagrams struct {
	*net.UDPConn
	observer *ttlObserver
}

// Read implements net.Conn.
func (c *observedDatagrams) Read(b []byte) (int, error) {
	n, err := c.UDPConn.Read(b)
	c.observer.observe(b[:n])
	return n, err
}

// observedStream is a connection to a name server over TCP, which carries one response, after its length in two bytes
// (RFC 1035, section 4.2.2).
type observedStream struct {
	*net.TCPConn
	observer *ttlObserver
	received []byte // nil once the response is complete
	complete bool
}

// Read implements net.Conn.
func (c *observedStream) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if c.complete {
		return n, err
	}
	c.received = append(c.received, b[:n]...)
	if len(c.received) >= 2 {
		if end := 2 + int(binary.BigEndian.Uint16(c.received)); len(c.received) >= end {
			c.observer.observe(c.received[2:end])
			c.received, c.complete = nil, true
		}
	}
	return n, err
}
