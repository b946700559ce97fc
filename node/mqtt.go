package node

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"example.com/ferry/edge"
	"example.com/ferry/edge/mqtt"
	"example.com/ferry/node/admin"
	"example.com/ferry/node/config"
)

// mqttDir is the directory of sessions and retained messages, below the data directory.
const mqttDir = "mqtt"

// listenMQTT binds a listener for MQTT. All of them have the sessions and the retained messages in common.
func (n *Node) listenMQTT(l *listener, at edge.Config, cfg *config.Config) error {
	server := n.mqttServer()
	if server == nil {
		used := n.config() // cfg may still be refused, and the server outlives that
		c := mqtt.Config{
			Broker: n.broker, Dir: filepath.Join(used.DataDir, mqttDir), Node: n.nodeID, MaxSessions: used.MQTT.Sessions,
			MaxExpiry: used.MQTT.SessionExpiry, MaxRetained: used.MQTT.Retained, RetainedBytes: int(used.MQTT.RetainedSize),
			IdentityShare: identityShare(used), Logins: n.logins,
			Queue: int(used.MQTT.Queue), MaxInFlight: used.MQTT.InFlight, Log: n.log,
		}
		if n.streams != nil {
			c.Cursors = sessionCursors{n.streams}
		}
		var err error
		if server, err = mqtt.New(c); err != nil {
			return err
		}
		n.mu.Lock()
		n.mqtt = server
		n.mu.Unlock()
	}
	s, err := server.Listen(mqtt.ListenerConfig{Config: at, WebSocket: l.cfg.WebSocket(), MaxPacket: int(cfg.Limits.MaxFrame) - maxEntries})
	if err != nil {
		return err
	}
	l.bound, l.served = s, s
	return nil
}

// identityShare returns mqtt.identity_share, or 100 if there is one identity only.
func identityShare(cfg *config.Config) int {
	if len(cfg.Identities) <= 1 && cfg.MQTT.PasswordFile == "" && cfg.MQTT.LoginURL == "" {
		return 100
	}
	return cfg.MQTT.IdentityShare
}

// prepareMQTT compares the shares of identities, which also depend on the number of identities. All other fields need a restart.
func (n *Node) prepareMQTT(r *reload) (change, error) {
	share := identityShare(r.next)
	c := change{commit: func() {
		if server := n.mqttServer(); server != nil { // also one that this reload has made
			server.SetIdentityShare(share)
		}
	}}
	if n.mqttServer() != nil && share != identityShare(r.last) {
		c.what = "identity_share"
	}
	return c, nil
}

// mqttServer returns the server of all mqtt listeners, or nil before there is one.
func (n *Node) mqttServer() *mqtt.Server {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mqtt
}

// maxEntries is by how much a frame may be longer than the packet of its message, in bytes.
const maxEntries = 1 << 10

// sessionCursors removes the durables of MQTT sessions.
type sessionCursors struct{ streams *storedStreams }

var _ mqtt.Cursors = sessionCursors{}

// List returns the durables of all streams whose names begin with prefix.
func (c sessionCursors) List(ctx context.Context, prefix string) ([]mqtt.Cursor, error) {
	var list []mqtt.Cursor
	for _, s := range c.streams.all() {
		all, err := s.stream.Cursors(ctx)
		if err != nil {
			return nil, err
		}
		for _, each := range all {
			if strings.HasPrefix(each.Name, prefix) {
				list = append(list, mqtt.Cursor{Stream: s.config.Name, Name: each.Name})
			}
		}
	}
	return list, nil
}

// Delete removes a durable. One of a stream that is no longer configured is gone for this node.
func (c sessionCursors) Delete(ctx context.Context, cursor mqtt.Cursor) error {
	err := c.streams.DeleteDurable(ctx, cursor.Stream, cursor.Name)
	if errors.Is(err, admin.ErrNoDurable) || errors.Is(err, admin.ErrNoStream) {
		return nil
	}
	return err
}
