package loop

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Listener accepts connections on all loops of a Group. Any goroutine may call its methods. Code on a loop must not.
type Listener struct {
	group    *Group
	accepted AcceptFunc
	gate     Gate // nil: every connection is admitted
	addr     net.Addr
	path     string // path of a Unix domain socket; Close removes it
	release  func() (listens bool)
	once     sync.Once
	conns    atomic.Int64   // open connections of all loops
	loads    []load         // indexed by loop
	sockets  []net.Listener // bound; nil after Start
	queue    *acceptQueue   // nil unless the loops are the goroutine implementation
}

// Listen makes all loops accept connections at an address. For each connection it calls accepted, on the loop that will drive
// the connection: the loop that accepted it, or one with fewer connections of the Listener if that loop has more than its
// share. A TCP listener has one socket for each loop where the system spreads connections over them. Otherwise all loops share
// one socket. Port 0 means any free port: see Listener.Addr. A Unix domain socket without a listening process is replaced. New
// Unix domain sockets have permissions 0600.
func (g *Group) Listen(at Addr, accepted AcceptFunc) (*Listener, error) {
	return g.ListenGated(at, nil, accepted)
}

// Gate decides which connections of a Listener are accepted. Several loops call it at the same time, and wait for it.
type Gate interface {
	// Admit is called for each new connection, before any byte of it is read, on a loop that may not be the one that will
	// drive it. from is the client's IP address, an IPv4 address as such; it is the zero Addr on a Unix domain socket. If
	// admitted is false, the connection is reset, and the AcceptFunc is not called. Otherwise Release follows.
	Admit(l *Loop, from netip.Addr) (ticket uint32, admitted bool)
	// Release is called once after an admitted connection was closed, with the ticket that Admit returned.
	Release(ticket uint32)
}

// ListenGated is Listen for the connections that gate admits. A nil gate admits all.
func (g *Group) ListenGated(at Addr, gate Gate, accepted AcceptFunc) (*Listener, error) {
	ln, err := g.Bind(at, gate, accepted)
	if err != nil {
		return nil, err
	}
	if err := ln.Start(); err != nil {
		_ = ln.Close()
		return nil, err
	}
	return ln, nil
}

// Bind is ListenGated up to Start: it binds the address, and no connection is accepted yet. On Linux, clients of a TCP address are refused
// until then. Close follows in any case. replaces are Listeners that will be closed after Start: an address that overlaps one of theirs,
// with the same port, is not in use.
func (g *Group) Bind(at Addr, gate Gate, accepted AcceptFunc, replaces ...*Listener) (*Listener, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, fmt.Errorf("loop: listen on %s: %w", at, net.ErrClosed)
	}
	shared := slices.ContainsFunc(replaces, func(ln *Listener) bool { return ln.hasPort(at) })
	nls, release, err := g.boundSockets(at, shared)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("loop: address %s is in use: stop what listens there, or listen elsewhere: %w", at, err)
		}
		return nil, fmt.Errorf("loop: listen on %s: %w", at, err)
	}
	ln := &Listener{group: g, accepted: accepted, gate: gate, addr: nls[0].Addr(), path: at.Unix, release: release, sockets: nls, loads: make([]load, len(g.loops))}
	g.listeners = append(g.listeners, ln)
	return ln, nil
}

// hasPort reports whether ln has the TCP port of an address.
func (ln *Listener) hasPort(at Addr) bool {
	tcp, ok := ln.addr.(*net.TCPAddr)
	return ok && at.Unix == "" && tcp.Port == int(at.TCP.Port())
}

// Start accepts connections on all loops. It is called once, after Bind. After an error, Close follows.
func (ln *Listener) Start() error {
	g := ln.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return fmt.Errorf("loop: listen on %s: %w", ln.addr, net.ErrClosed)
	}
	nls := ln.sockets
	for _, nl := range nls {
		if err := startListening(nl); err != nil {
			return fmt.Errorf("loop: listen on %s: %w", ln.addr, err)
		}
	}
	if g.usesGoroutines() {
		ln.queue = newAcceptQueue(nls[0]) // nls has one element here
		nls = []net.Listener{ln.queue}
		ln.sockets = nil // the queue closes it
	}
	var err error
	for _, l := range g.loops {
		if err == nil {
			l.do(func() { err = l.openOrigin(ln) })
		}
	}
	for i := range max(len(g.loops), len(nls)) { // another process may have had another number of loops
		if l := g.loops[i%len(g.loops)]; err == nil {
			l.do(func() { err = l.open(ln, nls[i%len(nls)]) })
		}
	}
	if err != nil {
		return fmt.Errorf("loop: listen on %s: %w", ln.addr, err)
	}
	closeAll(ln.sockets) // the loops use duplicates of the descriptors
	ln.sockets = nil
	return nil
}

// usesGoroutines reports whether the loops use goroutines and one listening socket instead of epoll.
func (g *Group) usesGoroutines() bool { return g.cfg.Portable || !sharesPorts }

func closeAll(nls []net.Listener) {
	for _, nl := range nls {
		_ = nl.Close()
	}
}

// bindSockets binds one socket for all loops, or one for each loop. shared means that a socket of this process has the port already.
func (g *Group) bindSockets(at Addr, shared bool) ([]net.Listener, error) {
	if at.Unix != "" {
		nl, err := listenUnix(at.Unix)
		return []net.Listener{nl}, err
	}
	if sharesPorts && !g.cfg.ReusePort && !shared && at.TCP.Port() != 0 {
		if err := probeUnshared(at); err != nil {
			return nil, err
		}
	}
	count := 1
	if !g.usesGoroutines() {
		count = len(g.loops)
	}
	var nls []net.Listener
	for range count {
		nl, err := bindTCP(at, g.cfg.ReusePort)
		if err != nil {
			closeAll(nls)
			return nil, err
		}
		nls = append(nls, nl)
		at.TCP = netip.AddrPortFrom(at.TCP.Addr(), uint16(nl.Addr().(*net.TCPAddr).Port)) // the other sockets use the port of the first one
	}
	return nls, nil
}

func listenUnix(path string) (net.Listener, error) {
	nl, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if errors.Is(err, syscall.EADDRINUSE) && abandoned(path) {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove the abandoned socket: %w", err)
		}
		nl, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	}
	if err != nil {
		return nil, err
	}
	nl.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		_ = nl.Close()
		return nil, err
	}
	return nl, nil
}

// abandoned reports whether path is a socket without a listening process.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// Addr returns the address that was bound.
func (ln *Listener) Addr() net.Addr { return ln.addr }

// Close stops accepting. Connections that already wait are still accepted, as far as MaxConns allows. Open connections stay open. The
// AcceptFunc is not called after Close has returned.
func (ln *Listener) Close() error {
	g := ln.group
	g.mu.Lock()
	for i, other := range g.listeners {
		if other == ln {
			g.listeners = append(g.listeners[:i:i], g.listeners[i+1:]...)
			break
		}
	}
	g.mu.Unlock()
	ln.close()
	return nil
}

func (ln *Listener) close() {
	ln.once.Do(func() {
		if !ln.release() && ln.path != "" {
			_ = os.Remove(ln.path)
		}
		closeAll(ln.sockets)
		ln.acceptWaiting()
		ln.each((*acceptor).close)
		for _, l := range ln.group.loops {
			l.do(func() { l.closeOrigin(ln) }) // connections that were handed over to l came before
		}
	})
}

// each calls f for the acceptors of ln, on their loops.
func (ln *Listener) each(f func(*acceptor)) {
	for _, l := range ln.group.loops {
		l.do(func() {
			for _, a := range l.acceptors {
				if a.listener == ln {
					f(a)
				}
			}
		})
	}
}

// waitingRounds bounds acceptWaiting while clients go on connecting. No system lets more than 65535 connections wait at a socket.
const waitingRounds = 1<<16/acceptShare + 1

// acceptWaiting accepts the connections that wait, as far as MaxConns allows, because closing the sockets resets them. Each loop accepts
// acceptShare in a turn.
func (ln *Listener) acceptWaiting() {
	if ln.queue != nil {
		ln.queue.finish()
	}
	for range waitingRounds {
		more, failed := false, false
		ln.each(func(a *acceptor) {
			m, err := a.acceptWaiting()
			more, failed = more || m, failed || err != nil
		})
		switch {
		case more:
		case failed, ln.queue == nil, ln.queue.empty():
			return
		default:
			time.Sleep(time.Millisecond) // until the queue has the next one
		}
	}
}
