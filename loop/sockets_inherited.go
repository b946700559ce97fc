package loop

import (
	"fmt"
	"net"
	"os"
)

// Sockets has sockets that listen already, because an earlier process has opened them, and those that this process opens. A next process
// may get them. Several goroutines may call its methods.
type Sockets interface {
	// Take returns the sockets that listen at an address and are not in use: none, one, or several that share a port.
	Take(network, address string) ([]*os.File, error)
	// Use notes that a listener uses sockets, until it calls release. release reports whether they go on listening, in this process or
	// another one: then the file of a Unix domain socket stays.
	Use(network, address string, sockets ...Bound) (release func() (listens bool), err error)
}

// Bound is a listening socket. File returns a duplicate of its descriptor.
type Bound = interface{ File() (*os.File, error) }

// boundSockets returns the sockets of a listener. The caller calls release when it has closed them. shared means that a socket of this
// process has the port already.
func (g *Group) boundSockets(at Addr, shared bool) (nls []net.Listener, release func() (listens bool), err error) {
	sockets := g.cfg.Sockets
	if sockets == nil {
		nls, err = g.bindSockets(at, shared)
		return nls, func() bool { return false }, err
	}
	network, address := at.netAddress()
	files, err := sockets.Take(network, address)
	if err != nil {
		return nil, nil, err
	}
	if len(files) == 0 {
		inherited, ok := sockets.(interface{ HasPort(port uint16) bool })
		nls, err = g.bindSockets(at, shared || ok && inherited.HasPort(at.TCP.Port()))
	} else {
		nls, err = listenersOf(files)
	}
	if err != nil {
		return nil, nil, err
	}
	if g.usesGoroutines() && len(nls) > 1 { // they serve one socket: what waits at the others is reset
		closeAll(nls[1:])
		nls = nls[:1]
	}
	var inUse []Bound
	for _, nl := range nls {
		socket, ok := nl.(Bound)
		if !ok {
			closeAll(nls)
			return nil, nil, fmt.Errorf("a %T has no descriptor", nl)
		}
		inUse = append(inUse, socket)
	}
	if release, err = sockets.Use(network, address, inUse...); err != nil {
		closeAll(nls)
		return nil, nil, err
	}
	return nls, release, nil
}

// listenersOf returns the listeners of sockets, and closes files.
func listenersOf(files []*os.File) (nls []net.Listener, err error) {
	for _, f := range files {
		var nl net.Listener
		if err == nil {
			if nl, err = net.FileListener(f); err == nil {
				nls = append(nls, nl)
			}
		}
		if u, ok := nl.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false)
		}
		_ = f.Close()
	}
	if err != nil {
		closeAll(nls)
		return nil, err
	}
	return nls, nil
}
