package handover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
)

// name is an address as the configuration has it.
type name struct{ Network, Address string }

// group is what listens at one address: one socket, or several that share a port.
type group struct {
	name
	files   []*os.File // duplicates
	foreign bool       // systemd has made it, and keeps it
	number  int        // in the order of Use. Of several sockets on any free port, the next process takes the first one first
}

func byNumber(a, b *group) int { return a.number - b.number }

func (g *group) close() {
	for _, f := range g.files {
		_ = f.Close()
	}
}

// Set is the listening sockets of a process. All methods may overlap. Those of a nil Set bind addresses and do nothing else.
type Set struct {
	mu      sync.Mutex
	free    []*group // nothing in this process uses them
	used    []*group
	foreign []name // addresses of sockets that systemd has made
	keeps   bool   // what is released becomes free
	last    int    // the highest number

	inherited map[string]json.RawMessage // what the process before has handed over beside its sockets
	states    map[string]func() any      // what the next process gets
}

// NewSet returns an empty Set.
func NewSet() *Set { return &Set{} }

// Take returns duplicates of the sockets that listen at an address and are free. The caller closes them. It returns none if the address
// has to be bound.
func (s *Set) Take(network, address string) ([]*os.File, error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.free, func(g *group) bool { return g.listensAt(network, address) })
	if i < 0 {
		return nil, nil
	}
	g := s.free[i]
	files, err := duplicates(g.files)
	if err != nil {
		return nil, fmt.Errorf("handover: the socket of %s: %w", address, err)
	}
	s.free = slices.Delete(s.free, i, i+1)
	g.close()
	if at := (name{network, address}); g.foreign && !slices.Contains(s.foreign, at) {
		s.foreign = append(s.foreign, at)
	}
	return files, nil
}

// listensAt reports whether g is what a listener at an address needs. A socket of systemd is named by its bound address.
func (g *group) listensAt(network, address string) bool {
	if g.Network != network {
		return false
	}
	if g.Address == address {
		return true
	}
	bound, err := netip.ParseAddrPort(g.Address)
	if err != nil {
		return false
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != fmt.Sprint(bound.Port()) || port == "0" {
		return false
	}
	if host == "" {
		return bound.Addr().IsUnspecified()
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip == bound.Addr()
}

// HasPort reports whether a TCP socket with the port is free. Another one that overlaps its address can then be bound, although the
// process before still listens there.
func (s *Set) HasPort(port uint16) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.free, func(g *group) bool {
		_, p, err := net.SplitHostPort(g.Address)
		return g.Network == "tcp" && err == nil && p == strconv.Itoa(int(port))
	})
}

// Use notes that the process listens at an address with these sockets, until the caller calls release. release reports whether the
// sockets go on listening: for this process or another one. Then the caller does not remove the file of a Unix domain socket.
func (s *Set) Use(network, address string, sockets ...File) (release func() (listens bool), err error) {
	if s == nil {
		return func() bool { return false }, nil
	}
	g := &group{name: name{network, address}}
	for _, socket := range sockets {
		f, err := socket.File()
		if err != nil {
			g.close()
			return nil, fmt.Errorf("handover: the socket of %s: %w", address, err)
		}
		g.files = append(g.files, f)
	}
	s.mu.Lock()
	g.foreign = slices.Contains(s.foreign, g.name)
	s.last++
	g.number = s.last
	s.used = append(s.used, g)
	s.mu.Unlock()
	return func() bool { return s.release(g) }, nil
}

// File is a socket: *net.TCPListener, *net.UnixListener, *net.UDPConn. File returns a duplicate.
type File = interface{ File() (*os.File, error) }

func (s *Set) release(g *group) (listens bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stays := s.keeps || g.foreign // systemd listens at its sockets, so that no other one can be bound there
	i := slices.Index(s.used, g)
	if i < 0 {
		return stays
	}
	s.used = slices.Delete(s.used, i, i+1)
	if stays {
		s.free = append(s.free, g)
		slices.SortFunc(s.free, byNumber)
		return true
	}
	g.close()
	return false
}

// State decodes what the process before has handed over under a name into v, once. v stays as it is if there is nothing.
func (s *Set) State(name string, v any) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	state := s.inherited[name]
	delete(s.inherited, name)
	s.mu.Unlock()
	if state == nil {
		return nil
	}
	if err := json.Unmarshal(state, v); err != nil {
		return fmt.Errorf("handover: the state of %s: %w", name, err)
	}
	return nil
}

// HandOver has state called when the next process starts, which gets the result, as JSON, under a name.
func (s *Set) HandOver(name string, state func() any) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.states == nil {
		s.states = map[string]func() any{}
	}
	s.states[name] = state
}

// Keep makes the sockets that are released from now on go on listening, until the next Take or Drop.
func (s *Set) Keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeps = true
}

// Drop closes the sockets that are free, and ends Keep. Those of systemd stay, for a listener that a reload may add.
func (s *Set) Drop() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeps = false
	s.free = slices.DeleteFunc(s.free, func(g *group) bool {
		if g.foreign {
			return false
		}
		g.close()
		if g.Network == "unix" {
			_ = os.Remove(g.Address)
		}
		return true
	})
}

// Listen binds an address, or takes the socket that listens there. Closing the listener releases it.
func (s *Set) Listen(ctx context.Context, lc *net.ListenConfig, network, address string) (net.Listener, error) {
	files, err := s.Take(network, address)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		l, err := lc.Listen(ctx, network, address)
		if err != nil || s == nil {
			return l, err
		}
		return s.track(l, network, address, nil)
	}
	defer closeFiles(files)
	inner, err := net.FileListener(files[0]) // others of the group lose what waits at them: nothing here makes such groups
	if err != nil {
		return nil, fmt.Errorf("handover: the socket of %s: %w", address, err)
	}
	return s.track(inner, network, address, &lc.KeepAliveConfig)
}

func (s *Set) track(inner net.Listener, network, address string, keepAlive *net.KeepAliveConfig) (net.Listener, error) {
	socket, ok := inner.(File)
	if !ok {
		_ = inner.Close()
		return nil, fmt.Errorf("handover: %T is no socket", inner)
	}
	release, err := s.Use(network, address, socket)
	if err != nil {
		_ = inner.Close()
		return nil, err
	}
	return &listener{Listener: inner, release: sync.OnceValue(release), keepAlive: keepAlive}, nil
}

// listener releases its socket when it is closed.
type listener struct {
	net.Listener
	release   func() (listens bool)
	keepAlive *net.KeepAliveConfig // set on accepted connections; nil if the net.ListenConfig does
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok && l.keepAlive != nil {
		_ = tcp.SetKeepAliveConfig(*l.keepAlive) // a connection that has failed says so when it is read
	}
	return conn, err
}

// Close implements net.Listener.
func (l *listener) Close() error {
	listens := l.release()
	if u, ok := l.Listener.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(!listens)
	}
	return l.Listener.Close()
}

// ListenUDP binds an address, or takes the socket that is bound to it. release is called when the socket is closed.
func (s *Set) ListenUDP(address string) (conn *net.UDPConn, release func() (listens bool), err error) {
	files, err := s.Take("udp", address)
	if err != nil {
		return nil, nil, err
	}
	if len(files) == 0 {
		at, err := net.ResolveUDPAddr("udp", address)
		if err != nil {
			return nil, nil, err
		}
		if conn, err = net.ListenUDP("udp", at); err != nil {
			return nil, nil, err
		}
	} else {
		defer closeFiles(files)
		inner, err := net.FilePacketConn(files[0])
		if err != nil {
			return nil, nil, fmt.Errorf("handover: the socket of %s: %w", address, err)
		}
		udp, ok := inner.(*net.UDPConn)
		if !ok {
			_ = inner.Close()
			return nil, nil, fmt.Errorf("handover: the socket of %s is no UDP socket", address)
		}
		conn = udp
	}
	if release, err = s.Use("udp", address, conn); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, release, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// duplicates returns new descriptors of the same sockets.
func duplicates(files []*os.File) ([]*os.File, error) {
	var all []*os.File
	for _, f := range files {
		d, err := duplicate(f)
		if err != nil {
			closeFiles(all)
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}
