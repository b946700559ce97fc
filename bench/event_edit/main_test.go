package main

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"example.com/ferry/bench/internal/events"
	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/edgex"
)

func TestQuestion(t *testing.T) {
	whole := samples[large]
	samples[large] = binary(1 << 20) // with 12 MiB each row that decodes would take a second
	t.Cleanup(func() { samples[large] = whole })
	harnesstest.Run(t, question())
}

// A row with the seed's mistake writes the same few bytes for every event, without an error. The checks detect it.
func TestChecksSeeALostPayload(t *testing.T) {
	type seedEvent struct {
		ID     string `json:"id"`
		Device string `json:"omitempty"` // wrong tag, copied from the seed's struct
	}
	forgetful := func(name string) contender {
		return library(name, "", inCBOR, func(doc []byte, v any) error {
			var e seedEvent
			err := cbor.Unmarshal(doc, &e)
			v.(*events.Event).ID = e.ID
			return err
		}, cbor.Marshal)
	}
	for _, name := range []string{small, medium, large} {
		err := forgetful("forgetful").checkEdits(name)
		if err == nil || !strings.Contains(err.Error(), "are not the") {
			t.Errorf("%s: an event without its readings passes: %v", name, err)
		}
	}
	s, err := sampleOf(large)
	if err != nil {
		t.Fatal(err)
	}
	short := &edgex.Event{Readings: append([]edgex.Reading(nil), s.event.Readings...)}
	for name, spoil := range map[string]func(r *edgex.Reading){
		"no payload":      func(r *edgex.Reading) { r.BinaryValue = nil },
		"a byte less":     func(r *edgex.Reading) { r.BinaryValue = r.BinaryValue[1:] },
		"another payload": func(r *edgex.Reading) { r.BinaryValue = bytes.Repeat([]byte{1}, len(r.BinaryValue)) },
	} {
		short.Readings[2] = s.event.Readings[2]
		spoil(&short.Readings[2])
		if s.sees(short) == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}

// A decoder that stops before the end, as the seed's did after 247 bytes, is no contender.
func TestChecksSeeBytesThatWereNotRead(t *testing.T) {
	hasty := library("hasty", "", inCBOR, func(doc []byte, v any) error {
		_, err := cbor.UnmarshalFirst(doc, v)
		return err
	}, cbor.Marshal)
	if err := hasty.checkEdits(byte100); err == nil || !strings.Contains(err.Error(), "behind the event") {
		t.Errorf("a decoder that takes anything behind the event passes: %v", err)
	}
}

// A limit must reject the same malformed events as a checked edit.
func TestOverwriteID(t *testing.T) {
	doc, id := events.CBOR(events.Binary(100)), sameLength[0].bytes
	for n := range doc {
		part := bytes.Clone(doc[:n:n])
		if err := overwriteID(part, id); err == nil && !bytes.Contains(part, id) {
			t.Errorf("the first %d bytes: no error, and no ID", n)
		}
	}
	if err := overwriteID(doc, id[1:]); !errors.Is(err, errMoved) {
		t.Errorf("a shorter ID: got %v, want %v", err, errMoved)
	}
	for name, doc := range map[string]string{
		"empty": "", "no map": "\x80", "long map": "\xb9\x00\x01", "key is no text": "\xa1\x01\x02",
		"no value": "\xa1\x62id", "value is a list": "\xa1\x61a\x80", "no id": "\xa1\x61a\x61b",
	} {
		if err := overwriteID([]byte(doc), id); !errors.Is(err, errShape) {
			t.Errorf("%s: got %v, want %v", name, err, errShape)
		}
	}
}

func TestItems(t *testing.T) {
	// A map, seven keys and their values, and for each reading a map, seven keys and their values.
	if got := items(3); got != 1+2*7+3*(1+2*7) {
		t.Errorf("got %d items, want %d", got, 1+2*7+3*(1+2*7))
	}
	if items(1) == math.MinInt {
		t.Error("an event of one reading cannot be walked")
	}
}
