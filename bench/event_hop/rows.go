package main

import (
	"encoding/json"
	"errors"
	"runtime"
	"time"

	"github.com/bytedance/sonic"
	"github.com/fxamacker/cbor/v2"
	"github.com/ugorji/go/codec"

	"example.com/ferry/bench/internal/events"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/edgex"
)

// hop returns the message with another identity. ok is false if the device of the message does not match. The result is doc
// itself, changed in place, or a buffer that is valid until the next hop.
type hop func(doc []byte, id *identity) (out []byte, ok bool, err error)

// contender is one measured way to make a hop in one form, and a row of the report.
type contender struct {
	name    string
	kind    harness.Kind
	version string
	form    form
	whole   bool // whether it reads the whole message
	start   func(form) hop
}

// throughput is the number of message bytes on the wire per time. Only rows that read the whole message have this figure.
const throughput = "GB/s"

func (c contender) measure(name string, budget time.Duration) (harness.Figures, error) {
	doc, err := c.form.message(name, identities[1])
	if err != nil {
		return nil, err
	}
	hop := c.start(c.form)
	f := harness.Time(func(n int) {
		for i := 0; i < n && err == nil; i++ {
			var ok bool
			if _, ok, err = hop(doc, &identities[i&1]); !ok && err == nil {
				err = errFiltered
			}
		}
	}, budget)
	if c.whole {
		f[throughput] = float64(len(doc)) / f[harness.NsPerOp]
	}
	return f, err
}

var errFiltered = errors.New("a message about the device was filtered out")

func contenders() []contender {
	var rows []contender
	add := func(kind harness.Kind, version string, whole bool, name func(string) string, start func(form) hop) {
		for _, f := range forms {
			rows = append(rows, contender{name(f.name), kind, version, f, whole, start})
		}
	}
	add(harness.Ferry, "this commit", false, ferry, func(form) hop { return ferryHop(false) })
	add(harness.Ferry, "this commit", true, validated, func(form) hop { return ferryHop(true) })
	add(harness.Limit, "copy", true, func(form string) string { return "limit: memcpy, " + form }, func(form) hop { return copyHop() })
	usual := library{json.Unmarshal, json.Marshal, cbor.Unmarshal, cbor.Marshal}
	add(harness.Peer, "fxamacker "+harness.Version("github.com/fxamacker/cbor/v2")+", encoding/json of "+runtime.Version(), true,
		func(form string) string { return "usual libraries, " + form }, usual.hop)
	add(harness.Peer, "ugorji "+harness.Version("github.com/ugorji/go/codec")+" without copies, sonic "+harness.Version("github.com/bytedance/sonic"), true,
		func(form string) string { return "fastest libraries, " + form }, func(f form) hop { return fastest().hop(f) })
	return rows
}

// The names of ferry's rows.
func ferry(form string) string { return "ferry, " + form }

func validated(form string) string { return "ferry, validated, " + form }

// ferryHop edits the encoded message in place, in any form.
func ferryHop(validate bool) hop {
	v := new(edgex.View)
	return func(doc []byte, id *identity) ([]byte, bool, error) {
		if err := v.Open(doc, 0); err != nil {
			return nil, false, err
		}
		if validate {
			if err := v.Validate(); err != nil {
				return nil, false, err
			}
		}
		name, err := v.DeviceName()
		if err != nil || string(name) != events.Device {
			return nil, false, err
		}
		if err := v.SetCorrelationID(id.correlation); err != nil {
			return nil, false, err
		}
		if err := v.SetID(id.event); err != nil {
			return nil, false, err
		}
		done, err := v.InPlace()
		if err == nil && !done {
			err = errors.New("the new IDs do not have the length of the old ones")
		}
		return doc, err == nil, err
	}
}

// copyHop only copies the message. Any program that writes the message in one piece has to do so.
func copyHop() hop {
	var dst []byte
	return func(doc []byte, _ *identity) ([]byte, bool, error) {
		dst = append(dst[:0], doc...)
		return dst, true, nil
	}
}

// library decodes to structs and encodes them.
type library struct {
	unmarshalJSON func([]byte, any) error
	marshalJSON   func(any) ([]byte, error)
	unmarshalCBOR func([]byte, any) error
	marshalCBOR   func(any) ([]byte, error)
}

// hop decodes envelope and request, tests and sets fields, and encodes both again.
func (l library) hop(f form) hop {
	switch f.is {
	case edgex.CBOREnvelope:
		return nested(l.unmarshalCBOR, l.marshalCBOR)
	case edgex.JSONEnvelope:
		return nested(l.unmarshalJSON, l.marshalJSON)
	}
	return func(doc []byte, id *identity) ([]byte, bool, error) {
		e := new(events.Envelope[[]byte])
		if err := l.unmarshalJSON(doc, e); err != nil {
			return nil, false, err
		}
		r := new(events.AddEventRequest)
		if err := l.unmarshalCBOR(e.Payload, r); err != nil || r.Event.DeviceName != events.Device {
			return nil, false, err
		}
		e.CorrelationID, r.Event.ID = id.correlation, id.event
		var err error
		if e.Payload, err = l.marshalCBOR(r); err != nil {
			return nil, false, err
		}
		out, err := l.marshalJSON(e)
		return out, err == nil, err
	}
}

// nested is a hop where envelope and payload have one format.
func nested(unmarshal func([]byte, any) error, marshal func(any) ([]byte, error)) hop {
	return func(doc []byte, id *identity) ([]byte, bool, error) {
		e := new(events.Envelope[events.AddEventRequest])
		if err := unmarshal(doc, e); err != nil || e.Payload.Event.DeviceName != events.Device {
			return nil, false, err
		}
		e.CorrelationID, e.Payload.Event.ID = id.correlation, id.event
		out, err := marshal(e)
		return out, err == nil, err
	}
}

// fastest reuses ugorji's decoder, encoder and buffer; decoded texts are slices of the message.
func fastest() library {
	h := new(codec.CborHandle)
	h.ZeroCopy = true
	d := codec.NewDecoderBytes(nil, h)
	var out []byte
	e := codec.NewEncoderBytes(&out, h)
	return library{
		sonic.Unmarshal, sonic.Marshal,
		func(doc []byte, v any) error {
			d.ResetBytes(doc)
			err := d.Decode(v)
			if err == nil && d.NumBytesRead() != len(doc) {
				err = errors.New("bytes behind the message")
			}
			return err
		},
		func(v any) ([]byte, error) {
			out = out[:0]
			e.ResetBytes(&out)
			err := e.Encode(v)
			return out, err
		},
	}
}
