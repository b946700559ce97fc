package web

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/loop"
	"example.com/ferry/protocol/http1"
)

// Config configures a Server. Broker and Address are required. Zero values mean the defaults.
type Config struct {
	Broker   *broker.Broker
	Address  string            // HOST:PORT
	TLS      *tls.Config       // nil means cleartext
	Validate broker.Validation // of what clients publish

	// Sockets has sockets that listen already; nil means none.
	Sockets loop.Sockets

	// Anonymous is the identity of clients without a credential: see broker.LocalConfig.
	Anonymous string

	// Origins are the web origins, such as https://example.com, whose pages may use the server. "*" means all.
	Origins []string

	MaxMessage     int           // largest message in bytes; 0 means 1 MiB - 1 KiB
	MaxConnections int           // most connections at a time; further ones wait in the kernel. 0 means 1024
	IdleTimeout    time.Duration // longest time between two requests, and the broker keeps what a client was granted for so long; 0 means 60 s
	HeadTimeout    time.Duration // longest time from the first byte of a request to the end of its head; 0 means 10 s
	BodyTimeout    time.Duration // longest time without a byte of the body, or without the client reading what is queued for it; 0 means 30 s
	StoreTimeout   time.Duration // longest time that a request waits for credit, or to be stored; then the response is 503. 0 means 30 s
	PingInterval   time.Duration // between the comments, or PINGs, that keep a stream of events alive; 0 means 15 s

	Log *slog.Logger // nil means slog.Default
}

// Sizes in bytes.
const (
	outgoingBytes = 64 << 10 // encoded events of one client that wait for its loop; one event more is accepted
	maxHead       = 16 << 10
)

func (c *Config) fill() error {
	if c.Broker == nil || c.Address == "" {
		return errors.New("web: Config.Broker and Config.Address are required")
	}
	if c.MaxMessage == 0 {
		c.MaxMessage = 1<<20 - 1<<10
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = 1024
	}
	for _, d := range []struct {
		value *time.Duration
		zero  time.Duration
	}{
		{&c.IdleTimeout, 60 * time.Second},
		{&c.HeadTimeout, 10 * time.Second},
		{&c.BodyTimeout, 30 * time.Second},
		{&c.StoreTimeout, 30 * time.Second},
		{&c.PingInterval, 15 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.zero
		}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return nil
}

// headLimits bound the heads of requests.
var headLimits = &http1.Limits{MaxHead: maxHead}
