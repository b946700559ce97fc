package broker

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker/stored"
	"example.com/ferry/format"
	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// Config says how a Broker identifies its clients, and how much it stores for them. Only Identify is required. Zero
// values mean the defaults. New validates the Config and copies it. Broker.SetIdentities and Broker.PrepareLimits change it.
type Config struct {
	// Identify returns a client's identity by its token or its certificate. token is a view: it must not be kept or
	// logged. tls is nil on a connection without TLS. An error refuses the connection. Its text is logged and not sent
	// to the client.
	Identify func(token []byte, tls *tls.ConnectionState) (*Identity, error)

	// Formats validate payloads and read the fields that predicates name. A payload of another type is not validated
	// and matches no predicate.
	Formats []format.Format

	MaxFrame       int // largest frame in bytes, with header; 0 means 1 MiB
	MaxConnections int // most connections at a time; 0 means 1024
	MaxTags        int // most tags in use at a time; 0 means 65536
	MaxSubs        int // most subscriptions of one connection; 0 means 256
	Window         int // bytes that a client may publish on each tag before it needs CREDIT; 0 means 1 MiB
	Queue          int // bytes queued for each subscription and tag, unless SUB states less; 0 means 1 MiB

	MaxCalls         int // most calls of one connection in progress; 0 means 4096
	CallWindow       int // bytes of single requests of one connection in progress; 0 means 16 MiB
	CallStreamWindow int // least window, in bytes, of each stream of messages in calls that clients must grant; 0 means 256 KiB
	CallQueue        int // bytes of calls that wait for one connection, or for an instance that is free; further calls fail. 0 means 64 MiB

	// FirstID is the ID of the first client; those of further ones count up from it. A program that replaces another one, or starts again,
	// begins at a random number, so that an ID of the clients before does not name another client. 0 means 1.
	FirstID ferry.SourceID

	Node          string // id of this node in the paths of forwarded messages (native.CheckNodeID); "" refuses them
	Holder        string // name of this node in the engine's list of cursors
	StoreQueue    int    // bytes of memory that messages of each stream may hold while they wait to be stored; 0 means 64 MiB
	DurableWindow int    // bytes of messages that a durable has read and that are not done; 0 means 32 MiB

	Streams int // data streams in each direction, on transports that have streams; 0 means 8, at most 64

	HandshakeTimeout time.Duration // longest time from accept to HELLO, and for a partial frame; 0 means 10 s
	Heartbeat        time.Duration // interval of the clients' PINGs; a connection ends after three intervals without a byte. 0 means 10 s
	WriteTimeout     time.Duration // a connection ends if one write is blocked for this long; 0 means 30 s

	// Stored are the streams that the Broker stores. Broker.PrepareStreams changes them.
	Stored []stored.Config

	Log *slog.Logger // nil means slog.Default
}

// Stored is a stream that a Broker stores.
type Stored = stored.Config

// Identity is the name of a client and its grants.
type Identity struct {
	Name      string
	Publish   []string // filters of the tags that the client may publish on
	Subscribe []string // filters that the client may subscribe to, or any filter that these cover
	Call      []string // patterns of the services that the client may call: greeter.Greeter, greeter.* or *
	Serve     []string // patterns of the services that the client may offer

	Forward         bool // the client is a node: it may publish messages of others, with the path that they have come
	TrustValidation bool // messages that the client says it has validated in full are not validated again

	proof proof // what the client proved itself by; set by Identities
}

// Anyone grants every client everything. It is for tests, and for streams within one process.
func Anyone([]byte, *tls.ConnectionState) (*Identity, error) {
	return &Identity{Name: "anyone", Publish: []string{"#"}, Subscribe: []string{"#"}, Call: []string{"*"}, Serve: []string{"*"}}, nil
}

// covers reports whether one of the grants matches every tag that filter matches.
func covers(grants []string, filter string) bool {
	return slices.ContainsFunc(grants, func(g string) bool { return topic.Covers(g, filter) })
}

// Validation says how thoroughly a published payload is checked.
type Validation uint8

// The validations.
const (
	ValidateFull   Validation = iota // structure, bounds, depth, UTF-8, duplicate keys, trailing bytes
	ValidateBounds                   // structure and bounds
	ValidateOff                      // no check; for trusted publishers
)

// ParseValidation parses full, bounds or off.
func ParseValidation(s string) (Validation, error) {
	for v, name := range [...]string{"full", "bounds", "off"} {
		if s == name {
			return Validation(v), nil
		}
	}
	return 0, fmt.Errorf("broker: validate %q: want full, bounds or off", s)
}

// checkInterval returns how often connections are checked for progress: several times within the shortest limit.
func (c *Config) checkInterval() time.Duration {
	return max(min(c.HandshakeTimeout, c.Heartbeat, c.WriteTimeout, 4*time.Second)/4, time.Millisecond)
}

// fill sets the defaults and checks the limits.
func (c *Config) fill() error {
	if c.Node != "" {
		if err := native.CheckNodeID(c.Node); err != nil {
			return fmt.Errorf("broker: Config.Node: %w", err)
		}
	}
	if c.Identify == nil {
		return errors.New("broker: Config.Identify is missing: broker.Anyone accepts every client")
	}
	for _, b := range [...]struct {
		name               string
		value              *int
		standard, low, top int
	}{
		{"MaxFrame", &c.MaxFrame, native.DefaultMaxFrame, native.PubHeaderSize, 1 << 30},
		{"MaxConnections", &c.MaxConnections, 1024, 1, 1 << 24},
		{"MaxTags", &c.MaxTags, 65536, 1, 1 << 24},
		{"MaxSubs", &c.MaxSubs, 256, 1, 1 << 16},
		{"Window", &c.Window, 1 << 20, 1, 1 << 30},
		{"Queue", &c.Queue, 1 << 20, 1, 1 << 30},
		{"Streams", &c.Streams, 8, 1, 64},
		{"MaxCalls", &c.MaxCalls, int(peer.DefaultCallLimits.Calls), 1, 1 << 20},
		{"CallWindow", &c.CallWindow, int(peer.DefaultCallLimits.Window), 1, 1 << 30},
		{"CallStreamWindow", &c.CallStreamWindow, int(peer.DefaultCallLimits.StreamWindow), 1, 1 << 30},
		{"CallQueue", &c.CallQueue, 64 << 20, 1, 1 << 30},
		{"StoreQueue", &c.StoreQueue, 64 << 20, 1, 1 << 30},
		{"DurableWindow", &c.DurableWindow, 32 << 20, 1, 1 << 30},
	} {
		if *b.value == 0 {
			*b.value = b.standard
		}
		if *b.value < b.low || *b.value > b.top {
			return fmt.Errorf("broker: Config.%s is %d: want %d to %d", b.name, *b.value, b.low, b.top)
		}
	}
	for _, b := range [...]struct {
		name               string
		value              *time.Duration
		standard, low, top time.Duration
	}{
		{"HandshakeTimeout", &c.HandshakeTimeout, 10 * time.Second, 1, 1 << 62},
		{"Heartbeat", &c.Heartbeat, 10 * time.Second, time.Millisecond, 1 << 40},
		{"WriteTimeout", &c.WriteTimeout, 30 * time.Second, 1, 1 << 62},
	} {
		if *b.value == 0 {
			*b.value = b.standard
		}
		if *b.value < b.low || *b.value > b.top {
			return fmt.Errorf("broker: Config.%s is %v: want %v to %v", b.name, *b.value, b.low, b.top)
		}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return nil
}
