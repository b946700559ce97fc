package mqtt

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
)

// Config configures a Server. Broker is required. Zero values mean the defaults.
type Config struct {
	Broker *broker.Broker

	// Dir is the directory in which sessions and retained messages outlive the process. "" means that they do not.
	Dir string

	// Node is the name of the node: no two that share an engine have the same one.
	Node string

	// Cursors removes the durables of sessions. nil means that no stream is stored.
	Cursors Cursors

	MaxSessions   int           // most sessions, of connected clients and others; 0 means 10000
	MaxExpiry     time.Duration // longest time that a session outlives its connection; 0 means 24 h
	MaxRetained   int           // most retained messages; 0 means 10000
	RetainedBytes int           // most bytes of them: topics, payloads and properties; 0 means 16 MiB
	Logins        *edge.Logins  // compares passwords; nil means one of its own
	IdentityShare int           // percent of MaxSessions, MaxRetained and RetainedBytes that one identity may have if others have nothing; 0 means 100
	Queue         int           // bytes of messages on their way to one client that it has not acknowledged; 0 means 256 KiB
	MaxInFlight   int           // the same, in messages; and those of one client that wait to be stored. At most 65535; 0 means 1024

	Log *slog.Logger // nil means slog.Default
}

// ListenerConfig configures a Listener. edge.Config.Address is required. Zero values mean the defaults. edge.Config.HandshakeTimeout bounds the time until the end of
// CONNECT, and WriteTimeout that without the client reading what is queued for it.
type ListenerConfig struct {
	edge.Config

	// WebSocket makes clients connect by WebSocket, at any path, with the subprotocol mqtt.
	WebSocket bool

	MaxPacket int // largest packet of a client in bytes; 0 means 1 MiB
}

// Cursors removes the durables of sessions that have ended. Its methods may overlap.
type Cursors interface {
	// List returns the durables of all streams whose names begin with prefix.
	List(ctx context.Context, prefix string) ([]Cursor, error)

	// Delete removes a durable. It does nothing if there is none.
	Delete(ctx context.Context, c Cursor) error
}

// Cursor names a durable of a stream.
type Cursor struct{ Stream, Name string }

const (
	outgoingBytes = 64 << 10  // encoded packets of one client that wait for its loop; one packet more is accepted
	maxClientID   = 256       // bytes
	maxConnect    = 256 << 10 // bytes of a CONNECT, whose client is not known yet
)

func (c *Config) fill() error {
	if c.Broker == nil {
		return errors.New("mqtt: Config.Broker is required")
	}
	if c.IdentityShare < 0 || c.IdentityShare > 100 {
		return errors.New("mqtt: Config.IdentityShare is at most 100 percent")
	}
	if c.MaxInFlight < 0 || c.MaxInFlight > math.MaxUint16 {
		return errors.New("mqtt: Config.MaxInFlight is at most 65535")
	}
	c.MaxSessions = cmp.Or(c.MaxSessions, 10000)
	c.MaxRetained = cmp.Or(c.MaxRetained, 10000)
	c.RetainedBytes = cmp.Or(c.RetainedBytes, 16<<20)
	c.Queue = cmp.Or(c.Queue, 256<<10)
	c.MaxInFlight = cmp.Or(c.MaxInFlight, 1024)
	c.MaxExpiry = cmp.Or(c.MaxExpiry, 24*time.Hour)
	if c.Logins == nil {
		c.Logins = edge.NewLogins(edge.LoginCallback{})
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return nil
}
