package nats

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/engine"
)

const (
	streamPrefix     = "ferry-"     // of the names of JetStream streams, and of the buckets of their cursors
	metaTags         = "ferry.tags" // metadata of a JetStream stream: Config.Tags as JSON. It marks a stream as ferry's
	metaIDs          = "ferry.ids"  // the same: sharedIDs if Config.SharedIDs is set
	sharedIDs        = "stream"
	defaultDuplicate = 2 * time.Minute
)

// streamConfig returns the JetStream stream of c.
func streamConfig(c engine.Config) jetstream.StreamConfig {
	tags, _ := json.Marshal(c.Tags) // a list of texts cannot fail
	s := jetstream.StreamConfig{
		Name:               streamPrefix + c.Name,
		Description:        "a stream of ferry",
		Retention:          jetstream.LimitsPolicy,
		Discard:            jetstream.DiscardOld,
		MaxAge:             c.MaxAge,
		MaxBytes:           orUnlimited(c.MaxBytes),
		MaxMsgs:            orUnlimited(c.MaxRecords),
		MaxMsgsPerSubject:  orUnlimited(c.MaxPerTag),
		MaxConsumers:       -1,
		Storage:            jetstream.FileStorage,
		Replicas:           max(c.Replicas, 1),
		Duplicates:         c.DuplicateWindow,
		AllowDirect:        true,
		AllowAtomicPublish: true,
		Metadata:           map[string]string{metaTags: string(tags)},
	}
	if c.SharedIDs {
		s.Metadata[metaIDs] = sharedIDs
	}
	if c.InMemory {
		s.Storage = jetstream.MemoryStorage
	}
	if s.Duplicates == 0 {
		s.Duplicates = defaultDuplicate
	}
	if c.MaxAge > 0 {
		s.Duplicates = min(s.Duplicates, c.MaxAge) // JetStream refuses a longer window
	}
	for _, tag := range c.Tags {
		for _, subject := range filterSubjects(tag) {
			if !slices.Contains(s.Subjects, subject) {
				s.Subjects = append(s.Subjects, subject)
			}
		}
	}
	return s
}

// configOf reverses streamConfig. It returns false for a stream that is not ferry's.
func configOf(s jetstream.StreamConfig) (engine.Config, bool) {
	name, ok := strings.CutPrefix(s.Name, streamPrefix)
	tags, marked := s.Metadata[metaTags]
	if !ok || !marked {
		return engine.Config{}, false
	}
	c := engine.Config{
		Name:            name,
		Replicas:        s.Replicas,
		InMemory:        s.Storage == jetstream.MemoryStorage,
		MaxAge:          s.MaxAge,
		MaxBytes:        max(s.MaxBytes, 0),
		MaxRecords:      max(s.MaxMsgs, 0),
		MaxPerTag:       max(s.MaxMsgsPerSubject, 0),
		DuplicateWindow: s.Duplicates,
		SharedIDs:       s.Metadata[metaIDs] == sharedIDs,
	}
	if err := json.Unmarshal([]byte(tags), &c.Tags); err != nil {
		return engine.Config{}, false
	}
	return c, true
}

func orUnlimited(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

// Errors of JetStream that say what a server cannot do, and the field of the configuration that asks for it.
var unsupported = map[jetstream.ErrorCode]string{
	10005: "replicas",       // no suitable peers for placement
	10074: "replicas",       // replicas > 1 not supported in non-clustered mode
	10028: "storage",        // insufficient memory resources available
	10047: "retention.size", // insufficient storage resources available
	10113: "retention.size", // account requires a stream config to have max bytes set
	10122: "retention.size", // stream max bytes exceeds account limit
	10027: "streams",        // maximum number of streams reached
}

// openError turns the error of creating the stream of c into an *engine.UnsupportedError if the server cannot do what c asks for.
func openError(name string, c engine.Config, err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		if field, ok := unsupported[api.ErrorCode]; ok {
			return &engine.UnsupportedError{Engine: name, Stream: c.Name, Field: field, Why: api.Description}
		}
	}
	return err
}
