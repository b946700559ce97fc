package durable

import (
	"context"
	"fmt"
)

// System is what a client publishes to.
type System string

// The systems.
const (
	Ferry         System = "ferry"                  // its binary, with the embedded engine
	FerryExternal System = "ferry, external engine" // its binary, with the servers as engine
	NATS          System = "nats.go alone"          // the servers, with their own client
	Kafka         System = "franz-go"               // Kafka; Replay only
)

// spec is the role of a process and its parameters.
type spec struct {
	Role     string
	System   System
	Addrs    []string // of a client: where the servers are
	Dir      string   // data of a server; of a client of ferry: of its node
	Replicas int
	Stream   string // name of the stream of NATS
	Size     int    // bytes of a message
	Keep     int64  // bytes that the stream keeps; 0 means all
	Server   server // of a server
}

// The roles.
const (
	clientRole = "client"
	serverRole = "nats-server"
)

func (s spec) name() string {
	if s.Role == serverRole {
		return fmt.Sprintf("%s %d", s.Role, s.Server.Number)
	}
	return fmt.Sprintf("client of %s, %d replicas, %d bytes", s.System, s.Replicas, s.Size)
}

// client is one connection to a system.
type client interface {
	// publish returns when payload is stored. Calls may overlap.
	publish(ctx context.Context, payload []byte) error

	// fill publishes n messages, and returns when all are stored. next returns the payload of each in turn, valid until the next
	// call.
	fill(ctx context.Context, n int, next func() []byte) error

	// consume calls handle for each message that is stored from now on, and acknowledges it. Calls do not overlap. fail is called
	// when no more messages will come. stop ends the calls.
	consume(ctx context.Context, handle func(payload []byte), fail func(error)) (stop func(), err error)

	// replay calls handle for each message of the stream from the first on, or for each for which numbered.Where is true, until
	// handle returns false. Calls do not overlap.
	replay(ctx context.Context, where bool, handle func(payload []byte) bool) error
}

var dialers = map[System]func(ctx context.Context, s spec) (client, error){
	Ferry:         ferryDial,
	FerryExternal: ferryDial,
	NATS:          natsDial,
	Kafka:         kafkaDial,
}
