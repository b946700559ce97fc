package loop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
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
	conns    atomic.Int64 // open connections of all loops
	loads    []load       // indexed by loop
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
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, fmt.Errorf("loop: listen on %s: %w", at, net.ErrClosed)
	}
	nls, release, err := g.listeningSockets(at)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("loop: address %s is in use: stop what listens there, or listen elsewhere: %w", at, err)
		}
		return nil, fmt.Errorf("loop: listen on %s: %w", at, err)
	}
	if g.usesGoroutines() {
		nls[0] = newAcceptQueue(nls[0]) // nls has one element here
	}
	ln := &Listener{group: g, accepted: accepted, gate: gate, addr: nls[0].Addr(), path: at.Unix, release: release, loads: make([]load, len(g.loops))}
	for _, l := range g.loops {
		if err == nil {
			l.do(func() { err = l.openOrigin(ln) })
		}
	}
	for i := range max(len(g.loops), len(nls)) { // another process may have had another number of loops
		if l := g.loops[i%len(g.loops)]; err == nil {
			l.do(func() { err = l.open(ln, nls[i%len(nls)]) })
		}
		if err != nil {
			closeAll(nls)
			ln.close()
			return nil, fmt.Errorf("loop: listen on %s: %w", at, err)
		}
	}
	if !g.usesGoroutines() {
		closeAll(nls) // the loops use duplicates of the descriptors
	}
	g.listeners = append(g.listeners, ln)
	return ln, nil
}

// usesGoroutines reports whether the loops use goroutines and one listening socket instead of epoll.
func (g *Group) usesGoroutines() bool { return g.cfg.Portable || !sharesPorts }

func closeAll(nls []net.Listener) {
	for _, nl := range nls {
		_ = nl.Close()
	}
}

// listenSockets opens one listening socket for all loops, or one for each loop.
func (g *Group) listenSockets(at Addr) ([]net.Listener, error) {
	if at.Unix != "" {
		nl, err := listenUnix(at.Unix)
		return []net.Listener{nl}, err
	}
	var lc net.ListenConfig
	count := 1
	share := !g.usesGoroutines()
	if share {
		count = len(g.loops)
		if !g.cfg.ReusePort && at.TCP.Port() != 0 {
			if err := probeUnshared(at); err != nil {
				return nil, err
			}
		}
	}
	if share || g.cfg.ReusePort {
		lc.Control = func(_, _ string, raw syscall.RawConn) error {
			var err error
			if ctlErr := raw.Control(func(fd uintptr) { err = sharePort(fd) }); ctlErr != nil {
				return ctlErr
			}
			return err
		}
	}
	network, address := at.netAddress()
	var nls []net.Listener
	for range count {
		nl, err := lc.Listen(context.Background(), network, address)
		if err != nil {
			closeAll(nls)
			return nil, err
		}
		nls = append(nls, nl)
		address = nl.Addr().String() // the other sockets use the port of the first one
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

// Close stops accepting. Connections that already wait are still accepted. Open connections stay open. The AcceptFunc is not
// called after Close has returned.
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
		for _, l := range ln.group.loops {
			l.do(func() {
				for _, a := range l.acceptors {
					if a.listener == ln {
						a.close()
					}
				}
			})
		}
		for _, l := range ln.group.loops {
			l.do(func() { l.closeOrigin(ln) }) // connections that were handed over to l came before
		}
	})
}
