package proxy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
)

// Connection is a client's connection.
type Connection struct {
	ID       string // no other connection of this proxy or of an earlier process has had it, or will have it soon
	Listener string // name of the listener
	Protocol Protocol
	Bound    string // address of the listener
	Address  string // of the client; empty for a Unix domain socket
	Identity string // name in the client's certificate; empty if it has presented none
	Idle     bool   // without a request
}

// ConnectionQuery selects connections. An empty field matches all.
type ConnectionQuery struct {
	Listener string // name or bound address
	Protocol Protocol
	Identity string
	Limit    int // of the list
}

// Connections returns the connections that q matches, at most Limit, and how many match and how many are open. It holds each loop for less
// than a microsecond a connection.
func (p *Proxy) Connections(q ConnectionQuery) (list []Connection, matched, open int) {
	bound, services := p.boundServices()
	p.group.Each(func(l *loop.Loop) {
		for c, h := range l.All() {
			i := slices.IndexFunc(services, func(s *terminator) bool { return s.Owns(h) })
			if i < 0 {
				continue
			}
			open++
			one := Connection{Listener: bound[i].Listener, Protocol: bound[i].Protocol, Bound: bound[i].Address}
			if info := exchange.ClientTLS(c); info != nil {
				one.Identity = info.Identity
			}
			if q.Listener != "" && q.Listener != one.Listener && q.Listener != one.Bound || q.Protocol != "" && q.Protocol != one.Protocol ||
				q.Identity != "" && q.Identity != one.Identity {
				continue
			}
			if matched++; len(list) < q.Limit {
				one.ID = connectionID(c)
				if remote := c.RemoteAddr(); remote != nil {
					one.Address = remote.String()
				}
				_, one.Idle = services[i].IdleUntil(c, h)
				list = append(list, one)
			}
		}
	})
	slices.SortFunc(list, func(a, b Connection) int { return strings.Compare(a.ID, b.ID) })
	return list, matched, open
}

// ErrUnknownConnection means that no connection has the ID.
var ErrUnknownConnection = errors.New("proxy: no connection has this id")

// errByOperator is why CloseConnection ends a connection.
var errByOperator = errors.New("proxy: an operator has closed the connection")

// CloseConnection ends the connection of a client at once, with its requests. The error is ErrUnknownConnection.
func (p *Proxy) CloseConnection(id string) error {
	_, services := p.boundServices()
	found := false
	p.group.Each(func(l *loop.Loop) {
		for c, h := range l.All() {
			if connectionID(c) == id && slices.ContainsFunc(services, func(s *terminator) bool { return s.Owns(h) }) {
				c.Abort(errByOperator)
				found = true
				return
			}
		}
	})
	if !found {
		return fmt.Errorf("%w: %s", ErrUnknownConnection, id)
	}
	p.log.Info("connection closed by an operator", "connection", id)
	return nil
}

// boundServices returns the listeners and the service of each.
func (p *Proxy) boundServices() ([]Bound, []*terminator) {
	p.mu.Lock()
	defer p.mu.Unlock()
	bound := p.parts.bound()
	services := make([]*terminator, len(bound))
	for i, b := range bound {
		services[i] = p.parts.listeners[b.Listener].service
	}
	return bound, services
}

// connectionID returns the ID of a connection: that of its loop, and its own there in two parts.
func connectionID(c *loop.Conn) string {
	id := c.ID()
	return fmt.Sprintf("%d-%x-%x", c.Loop().Index(), id>>32, uint32(id))
}
