package events_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"example.com/ferry/bench/internal/events"
	"example.com/ferry/edgex"
)

// The original benchmark never decoded its payload. This test checks that each library decodes the whole payload of the third
// reading. It also checks that the structs encode to the same bytes that EdgeX writes.
func TestPayloadIsInside(t *testing.T) {
	for _, size := range []int{100, events.Small, events.Medium, events.Large} {
		e := events.Binary(size)
		for format, lib := range map[string]struct {
			doc       []byte
			unmarshal func([]byte, any) error
			marshal   func(any) ([]byte, error)
		}{
			"CBOR": {events.CBOR(e), cbor.Unmarshal, cbor.Marshal},
			"JSON": {events.JSON(e), json.Unmarshal, json.Marshal},
		} {
			var got events.Event
			if err := lib.unmarshal(lib.doc, &got); err != nil {
				t.Fatalf("%s, %d bytes: %v", format, size, err)
			}
			if len(got.Readings) != 3 || len(got.Readings[2].BinaryValue) != size {
				t.Fatalf("%s, %d bytes: the third of %d readings does not have them", format, size, len(got.Readings))
			}
			if !bytes.Equal(got.Readings[2].BinaryValue, e.Readings[2].BinaryValue) {
				t.Errorf("%s, %d bytes: other bytes", format, size)
			}
			again, err := lib.marshal(got)
			if err != nil || !bytes.Equal(again, lib.doc) {
				t.Errorf("%s, %d bytes: written again it is not the same (%v)", format, size, err)
			}
		}
	}
}

func TestSimple(t *testing.T) {
	doc := events.CBOR(events.Simple(10))
	var got edgex.Event
	if err := got.UnmarshalCBOR(doc); err != nil {
		t.Fatal(err)
	}
	if len(got.Readings) != 10 || got.Readings[9].Value != "9" || got.DeviceName != events.Device {
		t.Errorf("got %d readings of %s, the last one %+v", len(got.Readings), got.DeviceName, got.Readings[len(got.Readings)-1])
	}
}
