package nats

import (
	"bytes"
	"reflect"
	"testing"

	natsgo "github.com/nats-io/nats.go"

	"example.com/ferry"
	"example.com/ferry/engine"
)

func TestRecordsKeepTheirFields(t *testing.T) {
	h := newHeaders()
	for i, want := range []engine.Record{
		{Type: ferry.JSON, ID: "shared", Time: 1700000000123456789, Payload: []byte("{}")},
		{Type: 200, Time: -1, Validated: true, ID: "order 17 ü % \x00\xff", Extension: []byte{0, 5, 1, 0xff}, Payload: []byte("x")},
		{Time: 1},
	} {
		want.Sequence, want.Stored = 7, 8
		h.record(&want, messageID(&want, i == 0))
		got, err := recordOf(h.header, want.Payload, 7, 8)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("record %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestMessagesOfOtherClientsAreRawRecords(t *testing.T) {
	got, err := recordOf(natsgo.Header{"Nats-Msg-Id": {"100%"}, "X": {"y"}}, []byte("hello"), 3, 42)
	want := engine.Record{Sequence: 3, Stored: 42, Time: 42, ID: "100%", Payload: []byte("hello")}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("record %+v, %v, want %+v", got, err, want)
	}
	for _, h := range []natsgo.Header{
		{hdrType: {"json"}}, {hdrType: {"256"}}, {hdrType: {"1"}, hdrTime: {"now"}}, {hdrType: {"1"}, hdrExt: {"%"}},
	} {
		if _, err := recordOf(h, nil, 1, 1); err == nil {
			t.Errorf("headers %v make a record", h)
		}
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add("1", "17", "1", "AAEC", "id%20")
	f.Add("", "", "", "", "")
	f.Add("300", "x", "2", "=", "%%")
	f.Fuzz(func(t *testing.T, typ, at, valid, ext, id string) {
		r, err := recordOf(natsgo.Header{hdrType: {typ}, hdrTime: {at}, hdrValid: {valid}, hdrExt: {ext}, hdrMsgID: {id}}, nil, 1, 2)
		if err != nil {
			return
		}
		h := newHeaders()
		h.record(&r, messageID(&r, true))
		again, err := recordOf(h.header, nil, 1, 2)
		if err != nil || again.ID != r.ID || again.Type != r.Type || again.Time != r.Time || !bytes.Equal(again.Extension, r.Extension) {
			t.Errorf("record %+v became %+v, %v", r, again, err)
		}
		for key, values := range h.header {
			for _, c := range []byte(values[0]) {
				if c <= ' ' || c > '~' {
					t.Errorf("header %s: %q", key, values[0])
				}
			}
		}
	})
}
