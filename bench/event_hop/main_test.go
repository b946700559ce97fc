package main

import (
	"bytes"
	"strings"
	"testing"

	"example.com/ferry/bench/internal/events"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/edgex"
)

func TestQuestion(t *testing.T) {
	whole := eventOf[mib12]
	eventOf[mib12] = eventOf[mib1] // 12 MiB take each row that decodes a second of a busy machine
	t.Cleanup(func() { eventOf[mib12] = whole })
	harnesstest.Run(t, question())
}

// Each message has the form of its rows, and its whole payload.
func TestMessages(t *testing.T) {
	for _, f := range forms {
		for _, name := range cases {
			doc, err := f.message(name, identities[0])
			if err != nil {
				t.Fatal(err)
			}
			var v edgex.View
			if err := v.Open(doc, 0); err != nil || v.Form() != f.is {
				t.Fatalf("%s, %s: is %v (%v), want %v", f.name, name, v.Form(), err, f.is)
			}
			want := eventOf[name]()
			want.ID = identities[0].event
			event, err := v.AppendEvent(nil)
			if err != nil {
				t.Fatal(err)
			}
			if f.is == edgex.JSONEnvelope && !bytes.Equal(event, events.JSON(want)) || f.is != edgex.JSONEnvelope && !bytes.Equal(event, events.CBOR(want)) {
				t.Errorf("%s, %s: holds %d bytes that are not the event", f.name, name, len(event))
			}
		}
	}
}

// The checks detect a row that loses the payload, and a row that does not change one of the IDs.
func TestChecksSeeFaults(t *testing.T) {
	for fault, spoil := range map[string]func(out []byte) []byte{
		"cut":         func(out []byte) []byte { return out[:len(out)/2] },
		"a byte less": func(out []byte) []byte { return out[1:] },
		"correlation": func(out []byte) []byte {
			return bytes.Replace(out, []byte(identities[0].correlation), []byte(identities[1].correlation), 1)
		},
	} {
		for _, f := range forms {
			c := contender{"faulty", harness.Peer, "", f, true, func(form) hop {
				good := ferryHop(false)
				return func(doc []byte, id *identity) ([]byte, bool, error) {
					out, ok, err := good(doc, id)
					return spoil(out), ok, err
				}
			}}
			if err := c.checkHop(kib64); err == nil || !strings.Contains(err.Error(), "came out") {
				t.Errorf("%s, %s: got %v", fault, f.name, err)
			}
		}
	}
}
