package pubsub

import (
	"context"
	"fmt"
)

// System is a node and its transport.
type System string

// The systems.
const (
	FerryQUIC System = "ferry quic"
	FerryTCP  System = "ferry tcp"
	RelayQUIC System = "relay quic"
	RelayTCP  System = "relay tcp"
	NATS      System = "nats"
)

// publisher sends the messages of a source. send blocks while the system accepts no more messages, and does not use payload
// after it returns. flush writes what send has buffered.
type publisher interface {
	send(tag int, payload []byte) error
	flush() error

	// connects returns how often it has connected.
	connects() int
}

// end is how a source and a function reach a node.
type end struct {
	publish func(ctx context.Context, s spec) (publisher, error)

	// subscribe calls take for each message, with payloads that are valid until it returns. Calls for one tag do not
	// overlap. fail is called when no more messages will arrive. connects is as the publisher's.
	subscribe func(ctx context.Context, s spec, take func(tag int, payload []byte), fail func(error)) (connects func() int, err error)

	// node serves and returns where; nil for a node that is a program of its own.
	node func(s spec, fail func(error)) (addr string, err error)
}

var ends = map[System]end{
	FerryQUIC: {ferryPublish, ferrySubscribe, nil},
	FerryTCP:  {ferryPublish, ferrySubscribe, nil},
	RelayQUIC: {relayPublish, relaySubscribe, relayNode},
	RelayTCP:  {relayPublish, relaySubscribe, relayNode},
	NATS:      {natsPublish, natsSubscribe, natsNode},
}

// once is embedded by clients that never reconnect.
func once() int { return 1 }

// tagName is the topic of a tag's number.
func tagName(tag int, separator string) string { return fmt.Sprintf("bench%s%d", separator, tag) }

// tagNumber returns the number in a topic that tagName made. There are at most ten tags, so it is one digit.
func tagNumber(name string) int { return int(name[len(name)-1] - '0') }
