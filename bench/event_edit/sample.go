package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"example.com/ferry/bench/internal/events"
	"example.com/ferry/edgex"
)

// The cases: the seed's three sizes first.
const (
	large    = "large: 12 MiB"
	medium   = "medium: 900 KiB"
	small    = "small: 100 KiB"
	kib64    = "64 KiB"
	kib1     = "1 kB"
	byte100  = "100 B"
	one      = "1 reading"
	ten      = "10 readings"
	hundred  = "100 readings"
	thousand = "1000 readings"
	shuffled = "small, keys shuffled"
	absent   = "small, no id"
)

var (
	bySize     = []string{large, medium, small, kib64, kib1, byte100}
	byReadings = []string{one, ten, hundred, thousand}
)

const shuffledDocs = 16 // a power of two

// encoding is the format that a row reads and writes.
type encoding uint8

const (
	inCBOR encoding = iota
	inJSON
)

// sample holds the events of a case. A measurement uses the events in turn.
type sample struct {
	event edgex.Event
	docs  [2][][]byte // documents, indexed by encoding
}

// sampleOf makes the sample of a case when it is first asked for.
func sampleOf(name string) (*sample, error) {
	s, ok := samples[name]
	if !ok {
		return nil, fmt.Errorf("no case %q: want one of %q", name, slices.Sorted(maps.Keys(samples)))
	}
	return s(), nil
}

var samples = map[string]func() *sample{
	large:    binary(events.Large),
	medium:   binary(events.Medium),
	small:    binary(events.Small),
	kib64:    binary(64 << 10),
	kib1:     binary(1000),
	byte100:  binary(100),
	one:      simple(1),
	ten:      simple(10),
	hundred:  simple(100),
	thousand: simple(1000),
	shuffled: sync.OnceValue(func() *sample {
		s := &sample{event: events.Binary(events.Small)}
		whole := s.encode()
		random := rand.New(rand.NewPCG(1, 2))
		for range shuffledDocs {
			order := slices.Clone(keys)
			random.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
			s.add(pick(whole[inCBOR], whole[inJSON], order))
		}
		return s
	}),
	absent: sync.OnceValue(func() *sample {
		s := &sample{event: events.Binary(events.Small)}
		whole := s.encode()
		s.add(pick(whole[inCBOR], whole[inJSON], slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == "id" })))
		return s
	}),
}

func binary(size int) func() *sample {
	return sync.OnceValue(func() *sample { return whole(events.Binary(size)) })
}

func simple(readings int) func() *sample {
	return sync.OnceValue(func() *sample { return whole(events.Simple(readings)) })
}

func whole(e edgex.Event) *sample {
	s := &sample{event: e}
	s.add(s.encode())
	return s
}

func (s *sample) encode() [2][]byte { return [2][]byte{events.CBOR(s.event), events.JSON(s.event)} }

func (s *sample) add(doc [2][]byte) {
	for i := range s.docs {
		s.docs[i] = append(s.docs[i], doc[i])
	}
}

// payload is the bytes of the third reading; nil in an event that has none.
func (s *sample) payload() []byte { return s.event.Readings[len(s.event.Readings)-1].BinaryValue }

// clones returns copies of the documents, for rows that change them.
func (s *sample) clones(in encoding) (docs [][]byte) {
	for _, doc := range s.docs[in] {
		docs = append(docs, slices.Clone(doc))
	}
	return docs
}

// keys are the keys of an event.
var keys = []string{"apiVersion", "id", "deviceName", "profileName", "sourceName", "origin", "readings"}

// pick returns, in both encodings, a document that has only the given keys, in the given order.
func pick(inCBOR, inJSON []byte, keys []string) (doc [2][]byte) {
	var fromCBOR map[string]cbor.RawMessage
	var fromJSON map[string]json.RawMessage
	if err := cbor.Unmarshal(inCBOR, &fromCBOR); err != nil {
		panic(err) // a constant of this program
	}
	if err := json.Unmarshal(inJSON, &fromJSON); err != nil {
		panic(err) // a constant of this program
	}
	binary, text := []byte{0xa0 | byte(len(keys))}, []byte{'{'} // RFC 8949, section 3.1: a map of up to 23 pairs
	for i, key := range keys {
		binary = append(append(append(binary, 0x60|byte(len(key))), key...), fromCBOR[key]...)
		if i > 0 {
			text = append(text, ',')
		}
		text = append(fmt.Appendf(text, "%q:", key), fromJSON[key]...)
	}
	return [2][]byte{binary, append(text, '}')}
}
