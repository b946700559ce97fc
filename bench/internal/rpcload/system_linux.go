package rpcload

import (
	"context"
	"time"

	"example.com/ferry/bench/internal/harness"
)

// System is a client and a server that are measured together: a row.
type System struct {
	Name, Version string
	Kind          harness.Kind

	Counted bool // the client can count the bytes that cross its transport: see Spec.Count

	// Serve starts the server, and returns the address for Dial. The server ends with its process.
	Serve func(ctx context.Context, s Spec) (addr string, err error)
	// Dial connects the client to s.Addr.
	Dial func(ctx context.Context, s Spec) (Client, error)
}

// Client makes calls.
type Client interface {
	// Call makes one call and verifies the response. Calls of different workers overlap; workers count from 0.
	Call(worker int) error
	Close() error
}

// Spec is what the two processes of a System need to know.
type Spec struct {
	Role    string
	System  string
	Addr    string // of the client: where the server is
	Dir     string // holds the certificates of package pki, and sockets
	Workers int    // each has one call in progress
	Conns   int    // connections of a client that multiplexes calls; others have as many as they need
	Content string // content type; not all systems have several
	Count   bool   // count the bytes that cross the transport; only if System.Counted
}

// callTime is the deadline of each call. Systems that can send it with the call do so.
const callTime = 20 * time.Second

// messages returns a request for each worker.
func messages(s Spec) []*Message {
	all := make([]*Message, s.Workers)
	for i := range all {
		all[i] = NewMessage()
	}
	return all
}
