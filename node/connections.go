package node

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/node/admin"
	"example.com/ferry/proxy"
)

// connections is admin.Connections: the clients of the broker, whose IDs are s and a number, and those of the proxy, whose IDs are p and
// that of the proxy. Either may be missing.
type connections struct {
	broker *broker.Broker
	scheme func(net.Addr) string // of the listener at an address
	proxy  *proxy.Proxy
}

// Connections is a method of admin.Connections.
func (c connections) Connections(q admin.ConnectionQuery) (all admin.ConnectionList) {
	if c.broker != nil {
		c.ofBroker(q, &all)
	}
	if c.proxy != nil {
		list, matched, open := c.proxy.Connections(proxy.ConnectionQuery{
			Listener: q.Listener, Protocol: proxy.Protocol(q.Protocol), Identity: q.Identity, Limit: q.Limit - len(all.Connections),
		})
		all.Open, all.Matched = all.Open+open, all.Matched+matched
		for _, one := range list {
			all.Connections = append(all.Connections, admin.Connection{
				ID: "p" + one.ID, Protocol: string(one.Protocol), Listener: one.Listener, Address: one.Address, Identity: one.Identity, Idle: one.Idle,
			})
		}
	}
	return all
}

// ofBroker adds the clients of the broker.
func (c connections) ofBroker(q admin.ConnectionQuery, all *admin.ConnectionList) {
	for _, s := range c.broker.Connections() {
		all.Open++
		one := admin.Connection{
			ID: fmt.Sprintf("s%d", s.ID), Protocol: c.scheme(s.Listener), Listener: s.Listener.String(), Address: s.Addr, Identity: s.Identity,
			Client: s.Client, Since: &s.Since, Subscriptions: s.Subscriptions, Publishes: s.Publishes,
		}
		if q.Protocol != "" && q.Protocol != one.Protocol || q.Listener != "" && q.Listener != one.Listener || q.Identity != "" && q.Identity != one.Identity {
			continue
		}
		if all.Matched++; len(all.Connections) < q.Limit {
			all.Connections = append(all.Connections, one)
		}
	}
}

// CloseConnection is a method of admin.Connections.
func (c connections) CloseConnection(id string) error {
	err := admin.ErrNoConnection
	if number, ok := strings.CutPrefix(id, "s"); ok && c.broker != nil {
		if n, parseErr := strconv.ParseUint(number, 10, 32); parseErr == nil {
			err = c.broker.CloseConnection(ferry.SourceID(n))
		}
	}
	if own, ok := strings.CutPrefix(id, "p"); ok && c.proxy != nil {
		err = c.proxy.CloseConnection(own)
	}
	if errors.Is(err, broker.ErrNoClient) || errors.Is(err, proxy.ErrUnknownConnection) {
		return admin.ErrNoConnection
	}
	return err
}

// ownClients is the protocol of the node's own clients, which have no socket.
const ownClients = "node"

// schemeOf returns the scheme of the listener that is bound to an address.
func (n *Node) schemeOf(at net.Addr) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.listeners {
		if addr := l.bound.Addr(); addr.Network() == at.Network() && addr.String() == at.String() {
			return l.cfg.Scheme()
		}
	}
	return ownClients
}
