package broker

import (
	"context"
	"net"
	"sync"
	"time"

	"example.com/ferry/transport"
)

// How fast a broker that hands over closes connections, so that the next process does not get the handshakes of thousands of clients in one
// moment. A handshake of TLS takes about a millisecond of CPU time of both sides together.
const (
	closedAtOnce = 100              // connections that HandOver itself closes
	closeEvery   = time.Millisecond // then CloseKept closes one
	closeWithin  = 10 * time.Second // but all of them within this time
)

// keptSockets are the sockets of sessions that have ended, and whose clients do not dial again before the sockets are closed.
type keptSockets struct {
	mu     sync.Mutex
	keeps  bool // HandOver was called
	closed int  // connections that have ended since, and were not kept
	list   []transport.Conn
}

// keepSocket reports whether conn, whose session has ended, stays open until CloseKept. A connection over UDP, such as one of QUIC, never does: it
// shares the socket of its listener, which would read the datagrams that are for the next process, or hold the address that it binds. So that
// its client does not dial while the listener still reads, keepSocket waits until the other sessions have ended, too.
func (b *Broker) keepSocket(conn transport.Conn) bool {
	_, udp := conn.LocalAddr().(*net.UDPAddr)
	keep, wait := b.kept.keep(conn, udp)
	if wait {
		<-b.stop
	}
	return keep
}

// keep adds conn to the list if it is to stay open. Otherwise it reports whether its closing has to wait.
func (k *keptSockets) keep(conn transport.Conn, udp bool) (keep, wait bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !k.keeps:
		return false, false
	case udp:
		return false, true
	case k.closed < closedAtOnce:
		k.closed++
		return false, false
	}
	k.list = append(k.list, conn)
	return true, false
}

// HandOver is Shutdown for a program whose listening sockets go to another process. All clients are told to leave, and their sessions end. But of
// more than 100 connections the sockets of the others stay open, unread: a client dials again when its connection is closed. If ctx ends first,
// the sockets of clients that have not left are closed. The caller calls CloseKept when the next process serves.
func (b *Broker) HandOver(ctx context.Context) error {
	b.kept.mu.Lock()
	b.kept.keeps = true
	b.kept.mu.Unlock()
	return b.Shutdown(ctx)
}

// CloseKept closes the sockets that HandOver has kept: one each millisecond, and more if that would take longer than 10 s. It does not wait.
// The channel is closed when the last one is. Only the first call closes any.
func (b *Broker) CloseKept() (done <-chan struct{}) {
	b.kept.mu.Lock()
	list := b.kept.list
	b.kept.list, b.kept.keeps = nil, false
	b.kept.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		closeSpread(list)
	}()
	return ended
}

// closeSpread closes connections one after another.
func closeSpread(list []transport.Conn) {
	const turns = int(closeWithin / closeEvery)
	atOnce := (len(list) + turns - 1) / turns
	tick := time.NewTicker(closeEvery)
	defer tick.Stop()
	var closing sync.WaitGroup // TLS writes a last record, which waits for a client that does not read
	for len(list) > 0 {
		n := min(atOnce, len(list))
		for _, conn := range list[:n] {
			closing.Go(func() { _ = conn.Close() })
		}
		clear(list[:n])
		list = list[n:]
		<-tick.C
	}
	closing.Wait()
}
