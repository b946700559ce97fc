package rpcload

import (
	"cmp"
	"context"
	"time"

	"example.com/ferry/bench/internal/harness"
)

// System is a client and a server that are measured together: a row.
type System struct {
	Name, Version string
	Kind          harness.Kind

	Counted bool // the client can count the bytes that cross its transport: see Spec.Count

	// Node, if not nil, starts the node that client and server connect to, and returns its address for Spec.Node. It ends with its
	// process, which may have started another one for it.
	Node func(ctx context.Context, s Spec) (addr string, err error)
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

// Spec is what the processes of a System need to know.
type Spec struct {
	Role    string
	System  string
	Node    string // where the node is, if there is one
	Addr    string // of the client: where the server is, or several separated by commas
	Dir     string // holds the certificates of package pki, and sockets
	Workers int    // each has one call in progress
	Conns   int    // connections of a client that multiplexes calls; others have as many as they need
	Size    int    // bytes of a message without an encoding; 0 means Size
	Count   bool   // count the bytes that cross the transport; only if System.Counted
}

// size is the number of bytes of a message.
func (s Spec) size() int { return cmp.Or(s.Size, Size) }

// callTime is the deadline of each call. Systems that can send it with the call do so.
const callTime = 20 * time.Second

// messages returns a request for each worker.
func messages(s Spec) []*Message { return requests(protoKind, s) }
