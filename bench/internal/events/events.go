package events

import (
	"fmt"
	"math/rand/v2"

	"example.com/ferry/codec/cbor"
	"example.com/ferry/codec/json"
	"example.com/ferry/edgex"
)

// The payload sizes of the events, in bytes. They are those of the seed: the original benchmark, whose recorded results
// these benchmarks are compared with.
const (
	Small  = 100 << 10
	Medium = 900 << 10
	Large  = 12 << 20
)

// Device is the name of the device of all events.
const Device = "camera-07"

const origin = 1_700_000_000_000_000_000 // nanoseconds

// UUID returns the n-th ID. Events, readings and requests use these IDs. Each ID has 36 characters.
func UUID(n int) string { return fmt.Sprintf("d5471d59-2810-419a-8744-%012x", n) }

// Binary returns an event with two simple readings, and a third reading with size random bytes.
func Binary(size int) edgex.Event {
	e := empty()
	for i, value := range []string{"789", "XYZ"} {
		r := reading(e, i, edgex.String)
		r.Value = value
		e.Readings = append(e.Readings, r)
	}
	r := reading(e, 2, edgex.Binary)
	r.BinaryValue, r.MediaType = payload(size), "application/octet-stream"
	e.Readings = append(e.Readings, r)
	return e
}

// Simple returns an event with n readings. Each reading is a number.
func Simple(n int) edgex.Event {
	e := empty()
	for i := range n {
		r := reading(e, i, edgex.Int32)
		r.Value = fmt.Sprint(i)
		e.Readings = append(e.Readings, r)
	}
	return e
}

func empty() edgex.Event {
	return edgex.Event{
		APIVersion: edgex.APIVersion, ID: UUID(0), DeviceName: Device, ProfileName: "camera", SourceName: "frame", Origin: origin,
	}
}

func reading(e edgex.Event, i int, valueType string) edgex.Reading {
	return edgex.Reading{
		ID: UUID(1 + i), Origin: origin, DeviceName: e.DeviceName, ResourceName: fmt.Sprintf("resource-%d", i),
		ProfileName: e.ProfileName, ValueType: valueType,
	}
}

// payload returns random bytes, the same in each run.
func payload(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // never fails
	return b
}

// CBOR encodes v, an event or its envelope, as EdgeX does.
func CBOR(v any) []byte { return mustBytes(cbor.Codec{}.Marshal(v)) }

// JSON encodes v, an event or its envelope, as EdgeX does.
func JSON(v any) []byte { return mustBytes(json.Codec{}.Marshal(v)) }

func mustBytes(b []byte, err error) []byte {
	if err != nil {
		panic(err) // v is a constant of a benchmark, so this is a bug
	}
	return b
}
