package broker

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/clock"
	"example.com/ferry/protocol/native"
)

// ConnectionStats is one client.
type ConnectionStats struct {
	ID            ferry.SourceID // no other client has it while this one is connected, or had it shortly before (Config.FirstID)
	Listener      net.Addr       // that it connected to
	Addr          string         // of the client
	Client        string         // the name that it gave itself, or else that of its identity
	Identity      string
	Since         time.Time
	Subscriptions int // those of stored streams included
	Publishes     int // number of tags
}

// Connections returns all clients, sorted by ID.
func (b *Broker) Connections() []ConnectionStats {
	sessions, now := b.allSessions(), time.Now()
	all := make([]ConnectionStats, 0, len(sessions))
	for _, s := range sessions {
		s.mu.Lock()
		subscriptions, publishes := len(s.subs)+s.stored.Len(), len(s.published)
		s.mu.Unlock()
		all = append(all, ConnectionStats{
			ID: s.id, Listener: s.listener.inner.Addr(), Addr: s.addr, Client: s.name, Identity: s.identity.Load().Name, Since: now.Add(time.Duration(s.since - clock.At(now))),
			Subscriptions: subscriptions, Publishes: publishes,
		})
	}
	slices.SortFunc(all, func(a, b ConnectionStats) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// ErrNoClient means that no client has the ID.
var ErrNoClient = errors.New("broker: no client has this id")

// ErrByOperator is why CloseConnection ends a client. LocalHandler.Closed gets an error that wraps it.
var ErrByOperator = errors.New("broker: an operator has closed the connection")

// CloseConnection ends the connection of a client, and tells it that an operator did that: it may connect again. The error is ErrNoClient.
func (b *Broker) CloseConnection(id ferry.SourceID) error {
	b.mu.Lock()
	s := b.sessions[id]
	b.mu.Unlock()
	if s == nil {
		return ErrNoClient
	}
	b.cfg.Load().Log.Info("connection closed by an operator", "source", uint32(id), "name", s.name, "identity", s.identity.Load().Name, "addr", s.addr)
	s.client.close(fmt.Errorf("%w: %w", ErrByOperator, &native.Error{Code: native.CodeDraining, Reason: "an operator has closed this connection"}))
	return nil
}
