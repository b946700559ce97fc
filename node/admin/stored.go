package admin

import (
	"context"
	"errors"

	"example.com/ferry/engine"
)

// Errors of Streams.
var (
	ErrNoStream  = errors.New("admin: no such stream")
	ErrNoDurable = errors.New("admin: no such durable")
	ErrInUse     = errors.New("admin: the durable is in use")
)

// Streams are the streams that the node stores. All methods may overlap.
type Streams interface {
	// State returns the state of the engine, of all streams and of their durables.
	State(ctx context.Context) (StreamsState, error)

	// Stream returns the stream of that name, to look at its records and to purge it. ok is false if there is none.
	Stream(name string) (s engine.Stream, ok bool)

	// Replay appends dead letters to the streams that they come from, and removes them from this stream. nil sequences means all
	// dead letters of the stream. It returns how many it has replayed. The error is ErrNoStream, or engine.ErrNoRecord if there
	// is no dead letter with one of the numbers.
	Replay(ctx context.Context, stream string, sequences []uint64) (replayed int, err error)

	// DeleteDurable removes a durable and its position. The error is ErrNoStream, ErrNoDurable, or ErrInUse if it has members, on
	// this node or on another one.
	DeleteDurable(ctx context.Context, stream, durable string) error

	// ResetDurable moves the position of a durable. The errors are those of DeleteDurable.
	ResetDurable(ctx context.Context, stream, durable string, from engine.Start) error
}

// StreamsState is the response to GET /api/streams. Counters count from the start of the node. Times are seconds, sizes are
// bytes. The names of fields are stable; fields may be added.
type StreamsState struct {
	Now     float64       `json:"now"` // since the node began
	Engine  StreamEngine  `json:"engine"`
	Streams []StoredState `json:"streams"` // sorted by name
}

// StreamEngine is the engine that stores the streams.
type StreamEngine struct {
	Name        string  `json:"name"`    // memory or nats
	Address     string  `json:"address"` // as configured: memory, embedded, nats://HOST
	Durable     bool    `json:"durable"` // records outlive the process
	Sync        string  `json:"sync"`    // never, interval, always or unknown: when a stored record is on the disk
	Interval    float64 `json:"interval,omitempty"`
	MaxReplicas int     `json:"max_replicas"`
}

// StoredState is the state of a stream.
type StoredState struct {
	Name       string          `json:"name"`
	Tags       []string        `json:"tags"`     // filters of the tags that it stores
	Delivery   string          `json:"delivery"` // at-most-once or at-least-once
	Storage    string          `json:"storage"`  // file or memory
	Retention  Retention       `json:"retention"`
	DeadLetter string          `json:"dead_letter,omitempty"` // tag that dead letters are published on
	Records    uint64          `json:"records"`
	Bytes      uint64          `json:"bytes"`
	First      uint64          `json:"first"`           // sequence number of the oldest record
	Last       uint64          `json:"last"`            // sequence number of the newest record ever stored
	Pending    int             `json:"pending"`         // bytes that wait to be stored
	Error      string          `json:"error,omitempty"` // why they wait
	Appended   uint64          `json:"appended"`        // records that were stored
	Dropped    uint64          `json:"dropped"`         // messages that were not stored, because too many waited
	Duplicates uint64          `json:"duplicates"`      // messages that were not stored, because one with their ID is
	Replicas   []StreamReplica `json:"replicas"`
	Durables   []DurableState  `json:"durables"` // sorted by name
}

// Retention is what a stream keeps. 0 means no bound.
type Retention struct {
	Age      float64 `json:"age,omitempty"`
	Size     int64   `json:"size,omitempty"`
	Messages int64   `json:"messages,omitempty"`
	PerTag   int64   `json:"per_tag,omitempty"`
}

// StreamReplica is a copy of a stream.
type StreamReplica struct {
	Name    string `json:"name"`
	Leader  bool   `json:"leader"`
	Current bool   `json:"current"` // it has all records
	Behind  uint64 `json:"behind"`  // operations that it lacks
}

// DurableState is the state of a durable.
type DurableState struct {
	Name        string        `json:"name"`
	Filter      string        `json:"filter,omitempty"` // of tags
	Where       string        `json:"where,omitempty"`  // predicate
	Holder      string        `json:"holder,omitempty"` // node that serves it; empty means none
	Here        bool          `json:"here"`             // this node serves it
	Floor       uint64        `json:"floor"`            // all records up to this sequence number are done
	Lag         uint64        `json:"lag"`              // records that are not done
	Held        int           `json:"held"`             // records that members have and have not acknowledged
	HeldBytes   int           `json:"held_bytes"`
	Waiting     int           `json:"waiting"`   // records that wait for their next delivery
	Delivered   uint64        `json:"delivered"` // deliveries, with the repeated ones
	Redelivered uint64        `json:"redelivered"`
	DeadLetters uint64        `json:"dead_letters"`
	Error       string        `json:"error,omitempty"` // why it makes no progress
	Members     []MemberState `json:"members"`
}

// MemberState is a client that a durable delivers to.
type MemberState struct {
	Client    string `json:"client"`
	Held      int    `json:"held"`
	HeldBytes int    `json:"held_bytes"`
	Credit    int    `json:"credit"` // bytes
}

// normalize makes lists that are nil empty, so that they are [] in JSON.
func (s *StreamsState) normalize() {
	s.Streams = notNil(s.Streams)
	for i := range s.Streams {
		st := &s.Streams[i]
		st.Tags, st.Replicas, st.Durables = notNil(st.Tags), notNil(st.Replicas), notNil(st.Durables)
		for j := range st.Durables {
			st.Durables[j].Members = notNil(st.Durables[j].Members)
		}
	}
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
