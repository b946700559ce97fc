package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Engine stores the streams.
type Engine struct {
	// Address is memory, embedded, or nats://HOST:PORT,HOST:PORT or tls://HOST:PORT,HOST:PORT of a NATS cluster with JetStream.
	// embedded keeps the streams in files below data_dir. Empty means embedded if a stream is delivered at least once or is stored in
	// files, and otherwise memory.
	Address string `yaml:"address,omitempty"`

	// Sync is when engine embedded writes a stored message to the disk: always before it is acknowledged, interval at most
	// interval later. Empty means always.
	Sync SyncPolicy `yaml:"sync,omitempty"`

	// Interval is the time between two writes of sync interval. When the machine loses power, the messages that were
	// acknowledged within that time are lost. Zero means 1s.
	Interval time.Duration `yaml:"interval,omitempty"`

	// CredentialsFile is the .creds file of the node's account at a NATS cluster.
	CredentialsFile string `yaml:"credentials_file,omitempty"`

	// CAFile is the PEM file of CAs that the servers of a tls:// address are verified with. Empty means the system's.
	CAFile string `yaml:"ca_file,omitempty"`
}

// SyncPolicy is when stored messages are written to the disk.
type SyncPolicy string

// The values of SyncPolicy.
const (
	SyncAlways   SyncPolicy = "always"
	SyncInterval SyncPolicy = "interval"
)

// Stream stores the messages of some tags, so that subscribers read them later or again.
type Stream struct {
	// Name is the name in metrics and commands: 1 to 64 letters, digits, - and _. Empty means a name made from the first filter:
	// orders for orders/#.
	Name string `yaml:"name,omitempty"`

	// Tags are the filters of the tags that are stored; + and # are wildcards. Two streams have no tag in common.
	Tags Filters `yaml:"tags" schema:"required"`

	// Delivery is the guarantee for subscribers with a durable name. Empty means at-most-once.
	Delivery Delivery `yaml:"delivery,omitempty"`

	// Retention bounds what is stored. The oldest messages are removed first, also those that a subscriber has not read.
	Retention Retention `yaml:"retention,omitempty"`

	// Replicas is the number of copies on different machines of a NATS cluster. Zero means 1.
	Replicas int `yaml:"replicas,omitempty" schema:"min=0"`

	// Storage is where the engine keeps the messages. Empty means file, or memory with engine memory.
	Storage Storage `yaml:"storage,omitempty"`

	// Key is the path of the payload's field that has a message's key. Messages with the same key are handled in order. Empty
	// means the key that the publisher sends, or else the tag.
	Key string `yaml:"key,omitempty"`

	// Idempotency recognizes messages that are published again.
	Idempotency Idempotency `yaml:"idempotency,omitempty"`

	// Redelivery is what happens to a message that a subscriber fails to handle. It needs delivery at-least-once.
	Redelivery Redelivery `yaml:"redelivery,omitempty"`

	// DeadLetter is the tag that gets messages that were delivered redelivery.max times: a tag of another stream with delivery
	// at-least-once. Empty means that such messages are dropped and counted.
	DeadLetter string `yaml:"dead_letter,omitempty"`
}

// Delivery is a delivery guarantee.
type Delivery string

// The values of Delivery.
const (
	AtMostOnce  Delivery = "at-most-once"
	AtLeastOnce Delivery = "at-least-once"
)

// Storage is where messages are kept.
type Storage string

// The values of Storage.
const (
	StorageFile   Storage = "file"
	StorageMemory Storage = "memory"
)

// Retention bounds a stream. The oldest messages are removed when a bound is exceeded.
type Retention struct {
	// Age is how long a message is stored. Zero means no bound.
	Age time.Duration `yaml:"age,omitempty"`

	// Size bounds the bytes of the stream. Zero means no bound, but 64MiB for a stream in memory.
	Size Size `yaml:"size,omitempty"`

	// Messages bounds the number of messages. Zero means no bound.
	Messages int64 `yaml:"messages,omitempty" schema:"min=0"`

	// PerTag bounds the number of messages of each tag: 1 keeps the last of each. Zero means no bound.
	PerTag int64 `yaml:"per_tag,omitempty" schema:"min=0"`
}

// Idempotency recognizes messages that are published again.
type Idempotency struct {
	// Key is the path of the payload's field that identifies a message. Empty means the ID that the publisher sends.
	Key string `yaml:"key,omitempty"`

	// Window is how long an ID is remembered. Zero means 2m.
	Window time.Duration `yaml:"window,omitempty"`

	// Scope says which messages share their IDs. Empty means tag: those of one tag, so that publishers of other tags cannot take an
	// ID. With stream, messages with one ID are the same on all tags of the stream.
	Scope IDScope `yaml:"scope,omitempty"`
}

// IDScope says which messages share their IDs.
type IDScope string

// The values of IDScope.
const (
	ScopeTag    IDScope = "tag"
	ScopeStream IDScope = "stream"
)

// Redelivery is what happens to a message that a subscriber fails to handle.
type Redelivery struct {
	// Max is how often a message is delivered at most. Zero means 5 with a dead_letter, and without one no bound.
	Max int `yaml:"max,omitempty" schema:"min=0"`

	// Backoff is the time before each redelivery; the last one counts for all later ones. Empty means 1s, 5s, 30s.
	Backoff []time.Duration `yaml:"backoff,omitempty"`

	// Wait is how long a subscriber may take for a message, unless it says that it is in progress. Zero means 30s.
	Wait time.Duration `yaml:"wait,omitempty"`
}

// Filters are tag filters, or patterns of files: in YAML one text, or a list.
type Filters []string

// The addresses of engines in this process.
const (
	MemoryEngine   = "memory"
	EmbeddedEngine = "embedded"
)

// OnDisk reports whether the engine keeps streams below data_dir.
func (e Engine) OnDisk() bool { return e.Address == EmbeddedEngine }

// memorySize is the default of retention.size for a stream in memory.
const memorySize = 64 << 20

// completeStreams sets the defaults of the engine and its streams.
func (c *Config) completeStreams() {
	needsDisk := func(s Stream) bool { return s.Delivery == AtLeastOnce || s.Storage == StorageFile }
	e := &c.Engine
	switch {
	case e.Address != "":
	case slices.ContainsFunc(c.Streams, needsDisk) || *e != (Engine{}):
		e.Address = EmbeddedEngine
	default:
		e.Address = MemoryEngine
	}
	if e.OnDisk() {
		if e.Sync == "" {
			e.Sync = SyncAlways
		}
		if e.Sync == SyncInterval && e.Interval == 0 {
			e.Interval = time.Second
		}
	}
	c.Streams = slices.Clone(c.Streams) // the caller's may be shared with another Config
	for i := range c.Streams {
		c.Streams[i].complete(e.Address)
	}
}

func (s *Stream) complete(engine string) {
	if s.Name == "" && len(s.Tags) > 0 {
		s.Name = streamName(s.Tags[0])
	}
	if s.Delivery == "" {
		s.Delivery = AtMostOnce
	}
	if s.Storage == "" {
		s.Storage = StorageFile
		if engine == MemoryEngine {
			s.Storage = StorageMemory
		}
	}
	if s.Storage == StorageMemory && s.Retention.Size == 0 {
		s.Retention.Size = memorySize
	}
	if s.Replicas == 0 {
		s.Replicas = 1
	}
	if s.Idempotency.Window == 0 {
		s.Idempotency.Window = 2 * time.Minute
	}
	if s.Delivery != AtLeastOnce {
		return
	}
	r := &s.Redelivery
	if r.Max == 0 && s.DeadLetter != "" {
		r.Max = 5
	}
	if len(r.Backoff) == 0 {
		r.Backoff = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}
	}
	if r.Wait == 0 {
		r.Wait = 30 * time.Second
	}
}

// streamName makes the name of a stream from its first filter: orders for orders/#, plant-pump for plant/+/pump.
func streamName(filter string) string {
	var levels []string
	for level := range strings.SplitSeq(filter, "/") {
		if level == "+" || level == "#" || level == "" {
			continue
		}
		levels = append(levels, strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
				return r
			}
			return '_'
		}, level))
	}
	if len(levels) == 0 {
		return "all"
	}
	name := strings.Join(levels, "-")
	return name[:min(len(name), 64)]
}

// EngineDescriptor says what an engine can do, so that a configuration is checked without starting it.
type EngineDescriptor struct {
	Scheme      string // of the address, before ://; the whole address of an engine in this process
	Remote      bool   // servers elsewhere: SCHEME://HOST:PORT,HOST:PORT
	Encrypted   bool   // connections to them have TLS
	Durable     bool   // records outlive the process, unless they are stored in memory
	Disk        bool   // the engine writes below data_dir, and sync says when
	MaxReplicas int
}

// The engines of this module.
var (
	Memory   = EngineDescriptor{Scheme: MemoryEngine, MaxReplicas: 1}
	Embedded = EngineDescriptor{Scheme: EmbeddedEngine, Durable: true, Disk: true, MaxReplicas: 1}
	NATS     = EngineDescriptor{Scheme: "nats", Remote: true, Durable: true, MaxReplicas: 5}
	NATSTLS  = EngineDescriptor{Scheme: "tls", Remote: true, Encrypted: true, Durable: true, MaxReplicas: 5}
)

// EngineDescriptors returns the list above.
func EngineDescriptors() []EngineDescriptor {
	return []EngineDescriptor{Memory, Embedded, NATS, NATSTLS}
}

// Syntax returns the form of an address.
func (d EngineDescriptor) Syntax() string {
	if d.Remote {
		return d.Scheme + "://HOST:PORT"
	}
	return d.Scheme
}

// Matches reports whether address is one of this engine.
func (d EngineDescriptor) Matches(address string) bool {
	scheme, _, remote := strings.Cut(address, "://")
	return scheme == d.Scheme && remote == d.Remote
}

// String returns how messages name the engine.
func (d EngineDescriptor) String() string {
	if d.Remote {
		return fmt.Sprintf("%s://", d.Scheme)
	}
	return d.Scheme
}
