package main

import (
	"fmt"
	"slices"
	"sync"

	"example.com/ferry/bench/internal/events"
	"example.com/ferry/edgex"
)

// The cases: the size of the third reading's payload, or the number of readings.
const (
	mib12    = "12 MiB"
	mib1     = "1 MiB"
	kib64    = "64 KiB"
	kib1     = "1 kB"
	byte100  = "100 B"
	one      = "1 reading"
	ten      = "10 readings"
	hundred  = "100 readings"
	thousand = "1000 readings"
)

var (
	bySize     = []string{mib12, mib1, kib64, kib1, byte100}
	byReadings = []string{one, ten, hundred, thousand}
	cases      = slices.Concat(bySize, byReadings)
)

// eventOf makes the event of a case when it is first asked for.
var eventOf = map[string]func() edgex.Event{
	mib12:    sync.OnceValue(func() edgex.Event { return events.Binary(12 << 20) }),
	mib1:     sync.OnceValue(func() edgex.Event { return events.Binary(1 << 20) }),
	kib64:    sync.OnceValue(func() edgex.Event { return events.Binary(64 << 10) }),
	kib1:     sync.OnceValue(func() edgex.Event { return events.Binary(1000) }),
	byte100:  sync.OnceValue(func() edgex.Event { return events.Binary(100) }),
	one:      sync.OnceValue(func() edgex.Event { return events.Simple(1) }),
	ten:      sync.OnceValue(func() edgex.Event { return events.Simple(10) }),
	hundred:  sync.OnceValue(func() edgex.Event { return events.Simple(100) }),
	thousand: sync.OnceValue(func() edgex.Event { return events.Simple(1000) }),
}

// form is a form of messages on EdgeX's bus.
type form struct {
	name   string
	is     edgex.Form
	encode func(r edgex.AddEventRequest, correlation string) []byte
}

var forms = []form{
	{"CBOR", edgex.CBOREnvelope, func(r edgex.AddEventRequest, correlation string) []byte {
		return events.CBOR(envelope(r, "application/cbor", correlation))
	}},
	{"base64", edgex.Base64CBOR, func(r edgex.AddEventRequest, correlation string) []byte {
		return events.JSON(envelope(events.CBOR(r), "application/cbor", correlation))
	}},
	{"JSON", edgex.JSONEnvelope, func(r edgex.AddEventRequest, correlation string) []byte {
		return events.JSON(envelope(r, "application/json", correlation))
	}},
}

// The arguments of events.UUID for these IDs. No reading has the same ID.
const other = 1 << 20

func envelope(payload any, contentType, correlation string) edgex.MessageEnvelope {
	return edgex.MessageEnvelope{
		APIVersion: edgex.APIVersion, CorrelationID: correlation, RequestID: events.UUID(other),
		Payload: payload, ContentType: contentType,
	}
}

// identity holds the IDs that a hop sets: the ID of the envelope and the ID of the event.
type identity struct{ correlation, event string }

// identities are used in turn, so that each hop changes the message. A new message has the last identity.
var identities = [2]identity{
	{events.UUID(other + 1), events.UUID(other + 2)},
	{events.UUID(other + 3), events.UUID(other + 4)},
}

// message returns the message of a case with an identity.
func (f form) message(name string, id identity) ([]byte, error) {
	event, ok := eventOf[name]
	if !ok {
		return nil, fmt.Errorf("no case %q: want one of %q", name, cases)
	}
	return f.of(event(), id), nil
}

func (f form) of(e edgex.Event, id identity) []byte {
	e.ID = id.event
	return f.encode(edgex.AddEventRequest{APIVersion: edgex.APIVersion, RequestID: events.UUID(other), Event: e}, id.correlation)
}
