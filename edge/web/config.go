package web

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
)

// Config configures a Server. Broker and edge.Config.Address are required. Zero values mean the defaults. edge.Config.HandshakeTimeout bounds the time from the first
// byte of a request to the end of its head, and WriteTimeout that without a byte of the body, or without the client reading what is queued for it.
type Config struct {
	edge.Config
	Broker *broker.Broker
	Logins *edge.Logins // compares passwords; nil means one of its own
	Log    *slog.Logger // nil means slog.Default

	MaxMessage   int           // largest message in bytes; 0 means 1 MiB - 1 KiB
	IdleTimeout  time.Duration // longest time between two requests, and the broker keeps what a client was granted for so long; 0 means 60 s
	StoreTimeout time.Duration // longest time that a request waits for credit, or to be stored; then the response is 503. 0 means 30 s
	PingInterval time.Duration // between the comments, or PINGs, that keep a stream of events alive; 0 means 15 s
}

// outgoingBytes bounds the encoded events of one client that wait for its loop; one event more is accepted.
const outgoingBytes = 64 << 10

func (c *Config) fill() error {
	if c.Broker == nil {
		return errors.New("web: Config.Broker is required")
	}
	if c.Logins == nil {
		c.Logins = edge.NewLogins(edge.LoginCallback{})
	}
	c.MaxMessage = cmp.Or(c.MaxMessage, 1<<20-1<<10)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 60*time.Second)
	c.StoreTimeout = cmp.Or(c.StoreTimeout, 30*time.Second)
	c.PingInterval = cmp.Or(c.PingInterval, 15*time.Second)
	return nil
}
