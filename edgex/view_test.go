package edgex_test

import (
	"bytes"
	"encoding/base64"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	fxcbor "github.com/fxamacker/cbor/v2"

	cborcodec "example.com/ferry/codec/cbor"
	jsoncodec "example.com/ferry/codec/json"
	"example.com/ferry/edgex"
	"example.com/ferry/field"
)

const (
	oldID       = "d5471d59-2810-419a-8744-18eb8fad3465" // ID of the event in all vectors
	newID       = "00000000-0000-4000-8000-00000000000f"
	correlation = "14a42ea6-c394-41c3-8bcd-a29b9f5e6835"
)

// forms has for each wire form a function that encodes a message. The functions use the libraries of go-mod-messaging:
// encoding/json and fxamacker/cbor.
var forms = []struct {
	form edgex.Form
	wrap func(t testing.TB, inCBOR, inJSON []byte) []byte
}{
	{edgex.CBOR, func(_ testing.TB, inCBOR, _ []byte) []byte { return bytes.Clone(inCBOR) }},
	{edgex.JSON, func(_ testing.TB, _, inJSON []byte) []byte { return bytes.Clone(inJSON) }},
	{edgex.JSONEnvelope, func(t testing.TB, _, inJSON []byte) []byte {
		return envelope(t, stdjson.Marshal, "application/json", stdjson.RawMessage(inJSON))
	}},
	{edgex.Base64CBOR, func(t testing.TB, inCBOR, _ []byte) []byte {
		return envelope(t, stdjson.Marshal, "application/cbor", inCBOR)
	}},
	{edgex.Base64JSON, func(t testing.TB, _, inJSON []byte) []byte {
		return envelope(t, stdjson.Marshal, "application/json", inJSON)
	}},
	{edgex.CBOREnvelope, func(t testing.TB, inCBOR, _ []byte) []byte {
		return envelope(t, fxcbor.Marshal, "application/cbor", fxcbor.RawMessage(inCBOR))
	}},
	{edgex.CBORBytes, func(t testing.TB, inCBOR, _ []byte) []byte {
		return envelope(t, fxcbor.Marshal, "application/cbor", inCBOR)
	}},
}

func envelope(t testing.TB, marshal func(any) ([]byte, error), contentType string, payload any) []byte {
	t.Helper()
	data, err := marshal(edgex.MessageEnvelope{
		APIVersion: edgex.APIVersion, CorrelationID: correlation, Payload: payload, ContentType: contentType,
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// eachForm runs test for each vector in each form.
func eachForm(t *testing.T, test func(t *testing.T, form edgex.Form, data []byte)) {
	for _, v := range vectors(t) {
		for _, f := range forms {
			t.Run(v.Name+"/"+f.form.String(), func(t *testing.T) { test(t, f.form, f.wrap(t, v.cbor(t), []byte(v.JSON))) })
		}
	}
}

func open(t testing.TB, data []byte) *edgex.View {
	t.Helper()
	var v edgex.View
	if err := v.Open(data, 0); err != nil {
		t.Fatal(err)
	}
	return &v
}

func valid(t testing.TB, data []byte) *edgex.View {
	t.Helper()
	v := open(t, data)
	if err := v.Validate(); err != nil {
		t.Fatalf("Validate: %v\n%q", err, data)
	}
	return v
}

// decode decodes data with the libraries only. It returns the event as a Go value.
func decode(t testing.TB, form edgex.Form, data []byte) (edgex.Event, string) {
	t.Helper()
	var out struct {
		edgex.Event
		Envelope edgex.MessageEnvelope
	}
	payload := data
	switch form {
	case edgex.JSONEnvelope, edgex.Base64CBOR, edgex.Base64JSON:
		var e struct {
			CorrelationID string             `json:"correlationID"`
			Payload       stdjson.RawMessage `json:"payload"`
		}
		check(t, stdjson.Unmarshal(data, &e))
		payload, out.Envelope.CorrelationID = e.Payload, e.CorrelationID
		if form != edgex.JSONEnvelope {
			var text []byte
			check(t, stdjson.Unmarshal(payload, &text))
			payload = text
		}
	case edgex.CBOREnvelope, edgex.CBORBytes:
		var e struct {
			CorrelationID string            `json:"correlationID"`
			Payload       fxcbor.RawMessage `json:"payload"`
		}
		check(t, fxcbor.Unmarshal(data, &e))
		payload, out.Envelope.CorrelationID = e.Payload, e.CorrelationID
		if form == edgex.CBORBytes {
			var raw []byte
			check(t, fxcbor.Unmarshal(payload, &raw))
			payload = raw
		}
	}
	c := cborcodec.Codec{}.Unmarshal
	if form == edgex.JSON || form == edgex.JSONEnvelope || form == edgex.Base64JSON {
		c = jsoncodec.Codec{}.Unmarshal
	}
	var request struct {
		Event *edgex.Event `json:"event"`
	}
	if check(t, c(payload, &request)); request.Event != nil {
		return *request.Event, out.Envelope.CorrelationID
	}
	check(t, c(payload, &out.Event))
	return out.Event, out.Envelope.CorrelationID
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestViewReads(t *testing.T) {
	eachForm(t, func(t *testing.T, form edgex.Form, data []byte) {
		v := valid(t, data)
		if v.Form() != form {
			t.Errorf("form = %v, want %v", v.Form(), form)
		}
		want, _ := decode(t, form, data)
		for _, r := range []struct {
			name string
			get  func() ([]byte, error)
			want string
		}{
			{"source", v.SourceName, want.SourceName},
			{"id", v.ID, want.ID},
			{"device", v.DeviceName, want.DeviceName},
			{"profile", v.ProfileName, want.ProfileName},
		} {
			if got, err := r.get(); err != nil || string(got) != r.want {
				t.Errorf("%s = %q, %v, want %q", r.name, got, err, r.want)
			}
		}
		if n, err := v.Origin(); err != nil || n != want.Origin {
			t.Errorf("origin = %d, %v, want %d", n, err, want.Origin)
		}
		id, err := v.CorrelationID()
		if bare := form == edgex.CBOR || form == edgex.JSON; bare && !errors.Is(err, field.ErrNotFound) || !bare && string(id) != correlation {
			t.Errorf("correlation id = %q, %v", id, err)
		}
		event, err := v.AppendEvent([]byte("x"))
		if err != nil || event[0] != 'x' {
			t.Fatalf("AppendEvent = %q, %v", event, err)
		}
		bareForm := edgex.CBOR
		if event[1] == '{' {
			bareForm = edgex.JSON
		}
		if got, _ := decode(t, bareForm, event[1:]); !reflect.DeepEqual(got, want) {
			t.Errorf("AppendEvent gave %+v, want %+v", got, want)
		}
	})
}

func TestViewThereAndBack(t *testing.T) {
	eachForm(t, func(t *testing.T, form edgex.Form, data []byte) {
		original := bytes.Clone(data)
		v := open(t, data)
		for _, id := range []string{newID, oldID} {
			check(t, v.SetID(id))
			if done, err := v.InPlace(); !done || err != nil {
				t.Fatalf("InPlace = %v, %v", done, err)
			}
			if got, err := v.ID(); string(got) != id || err != nil {
				t.Fatalf("id = %q, %v, want %q", got, err, id)
			}
			valid(t, data)
			if event, _ := decode(t, form, data); event.ID != id {
				t.Fatalf("decoded id = %q, want %q", event.ID, id)
			}
		}
		if !bytes.Equal(data, original) {
			t.Errorf("there and back gave %q\nwant %q", data, original)
		}
		for n := range 9 { // lengths with each remainder of a division by 3, and with one and two bytes in a CBOR head
			longer := strings.Repeat("i", 18+n)
			check(t, v.Open(data, 0))
			check(t, v.SetID(longer))
			if done, err := v.InPlace(); done || err != nil {
				t.Fatalf("InPlace of another length = %v, %v", done, err)
			}
			changed, err := v.AppendTo(nil)
			check(t, err)
			parts, err := v.Buffers(nil)
			check(t, err)
			if !bytes.Equal(bytes.Join(parts, nil), changed) {
				t.Fatalf("Buffers and AppendTo differ at %d bytes", n)
			}
			if event, _ := decode(t, form, changed); event.ID != longer {
				t.Fatalf("decoded id = %q, want %q", event.ID, longer)
			}
			back := valid(t, changed)
			check(t, back.SetID(oldID))
			again, err := back.AppendTo(nil)
			check(t, err)
			if !bytes.Equal(again, original) {
				t.Fatalf("there and back by %d bytes gave %q\nwant %q", len(longer), again, original)
			}
		}
	})
}

func TestViewSets(t *testing.T) {
	eachForm(t, func(t *testing.T, form edgex.Form, data []byte) {
		for n := range 7 {
			name := strings.Repeat("n\"ä", 20)[:n*3+1+n%2] // the name needs escapes in JSON
			name = strings.ToValidUTF8(name, "_")
			want, wantCorrelation := decode(t, form, data)
			v := valid(t, data)
			check(t, v.SetID(name+"1"))
			check(t, v.SetDeviceName(name+"22"))
			check(t, v.SetProfileName(name+"333"))
			check(t, v.SetSourceName(name+"4444"))
			want.ID, want.DeviceName, want.ProfileName, want.SourceName = name+"1", name+"22", name+"333", name+"4444"
			for i := range want.Readings {
				want.Readings[i].DeviceName, want.Readings[i].ProfileName = want.DeviceName, want.ProfileName
			}
			if wantCorrelation != "" {
				check(t, v.SetCorrelationID(name))
				wantCorrelation = name
			}
			check(t, v.SetTags(edgex.Tag{Name: "site", Value: name}, edgex.Tag{Name: "dock", Value: "5"}))
			if want.Tags == nil {
				want.Tags = map[string]any{}
			}
			want.Tags["site"], want.Tags["dock"] = name, "5"
			changed, err := v.AppendTo(nil)
			check(t, err)
			valid(t, changed)
			got, gotCorrelation := decode(t, form, changed)
			if !reflect.DeepEqual(got, want) || gotCorrelation != wantCorrelation {
				t.Fatalf("got  %+v %q\nwant %+v %q\n%q", got, gotCorrelation, want, wantCorrelation, changed)
			}
		}
	})
}

func TestKeepReadings(t *testing.T) {
	e := edgex.NewEvent("P", "D", "S")
	for i := range 5 {
		check(t, e.AddSimple(fmt.Sprint("r", i), edgex.Int32, int32(i)))
	}
	inCBOR, err := cborcodec.Codec{}.Marshal(e)
	check(t, err)
	inJSON, err := jsoncodec.Codec{}.Marshal(e)
	check(t, err)
	spaced := bytes.ReplaceAll(bytes.ReplaceAll(inJSON, []byte(","), []byte(" ,\n")), []byte("["), []byte("[ "))
	for _, f := range forms {
		for set := range 32 {
			for _, text := range [][]byte{inJSON, spaced} {
				data := f.wrap(t, inCBOR, text)
				v := valid(t, data)
				kept, err := v.KeepReadings(func(name []byte) bool { return set>>(name[1]-'0')&1 == 1 })
				check(t, err)
				changed, err := v.AppendTo(nil)
				check(t, err)
				valid(t, changed)
				got, _ := decode(t, f.form, changed)
				want := []edgex.Reading(nil)
				for i, r := range e.Readings {
					if set>>i&1 == 1 {
						want = append(want, r)
					}
				}
				if len(want) != kept || len(got.Readings) != kept || kept > 0 && !reflect.DeepEqual(got.Readings, want) {
					t.Fatalf("%v: kept %d of %05b: %+v", f.form, kept, set, got.Readings)
				}
			}
		}
	}
}

func TestTwoChangesInOneGroup(t *testing.T) {
	// The two names are adjacent in base64. One change alone would move the bytes after the names; both together do not.
	inCBOR := []byte("\xa3\x62id\x61a\x6adeviceName\x61b\x68readings\xf6")
	data := forms[3].wrap(t, inCBOR, nil)
	for a := range 5 {
		for b := range 5 {
			v := open(t, data)
			check(t, v.SetID(strings.Repeat("x", a)))
			check(t, v.SetDeviceName(strings.Repeat("y", b)))
			changed, err := v.AppendTo(nil)
			check(t, err)
			got, _ := decode(t, edgex.Base64CBOR, changed)
			if len(got.ID) != a || len(got.DeviceName) != b {
				t.Errorf("%d and %d bytes: %q", a, b, changed)
			}
		}
	}
}

func TestChangeTwice(t *testing.T) {
	data := forms[0].wrap(t, vectors(t)[0].cbor(t), nil)
	v := open(t, data)
	check(t, v.SetID("a"))
	if err := v.SetID("b"); err == nil || !strings.Contains(err.Error(), "carry that out first") {
		t.Errorf("second change = %v", err)
	}
	changed, err := v.AppendTo(nil)
	check(t, err)
	if got, _ := decode(t, edgex.CBOR, changed); got.ID != "a" {
		t.Errorf("id = %q, want the first change", got.ID)
	}
}

func TestOpenRefuses(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString
	rows := []struct{ name, data, want string }{
		{"empty", "", "empty message"},
		{"no map", "\x01", "byte 0x01"},
		{"text", "hello", "byte 0x68"},
		{"no event", `{"a":1}`, "no event"},
		{"no event in CBOR", "\xa1\x61a\x01", "no event"},
		{"no payload", `{"apiVersion":"v3","correlationID":"c","contentType":"application/json"}`, "no event"},
		{"payload null", `{"payload":null}`, "the payload is null"},
		{"payload list", `{"payload":[1]}`, "the payload is list"},
		{"payload number", `{"payload":1}`, "the payload is integer"},
		{"payload empty", `{"payload":""}`, "EOF"},
		{"payload error text", `{"errorCode":1,"payload":"no device","contentType":"text/plain"}`, "no group of base64"},
		{"payload base64 of text", `{"payload":"` + b64([]byte("hello")) + `"}`, "byte 0x68"},
		{"payload of no event", `{"payload":{"a":1}}`, "no event"},
		{"CBOR payload is text", "\xa1\x67payload\x61x", "the payload is text"},
		{"CBOR payload in chunks", "\xa1\x67payload\x5f\x41\xa0\xff", "chunks"},
		{"event is text", `{"event":"x"}`, "an object or a list"},
		{"cut", `{"payload":{"id`, "EOF"},
		{"cut CBOR", "\xa1\x67payl", "EOF"},
		{"2^63 items", "\xbb\x80\x00\x00\x00\x00\x00\x00\x00", "EOF"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			var v edgex.View
			err := v.Open([]byte(r.data), 0)
			if err == nil || !strings.Contains(err.Error(), r.want) || !strings.HasPrefix(err.Error(), "edgex: ") {
				t.Errorf("Open = %v, want an error with %q", err, r.want)
			}
			if _, err := v.ID(); err == nil {
				t.Error("a view that was not opened has an ID")
			}
			if _, err := v.InPlace(); err == nil {
				t.Error("a view that was not opened was changed")
			}
		})
	}
	var v edgex.View
	err := v.Open(make([]byte, 101), 100)
	if err == nil || !strings.Contains(err.Error(), "101 bytes exceeds the limit of 100") {
		t.Errorf("limit: %v", err)
	}
	if err := v.Open(make([]byte, edgex.MaxEvent+1), 0); err == nil {
		t.Error("the default limit was not kept")
	}
}

func TestValidateRefuses(t *testing.T) {
	event := `{"id":"a","readings":[]}`
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	inCBOR := "\xa2\x62id\x61a\x68readings\x80"
	rows := []struct{ name, data, want string }{
		{"payload twice", `{"payload":` + event + `,"payload":` + event + `,"contentType":"application/json"}`, `"payload" stands twice`},
		{"payload in two cases", `{"payload":` + event + `,"Payload":1,"contentType":"application/json"}`, "stands twice"},
		{"base64 payload twice", `{"payload":"` + b64(inCBOR) + `","payload":"","contentType":"application/cbor"}`, `"payload" stands twice`},
		{"id twice", `{"id":"a","id":"b"}`, "stands twice"},
		{"id and ID", `{"id":"a","ID":"b"}`, "stands twice"},
		{"id and ID in CBOR", "\xa2\x62id\x61a\x62ID\x61b", "stands twice"},
		{"id and ID in base64", `{"payload":"` + b64("\xa2\x62id\x61a\x62ID\x61b") + `","contentType":"application/cbor"}`, "stands twice"},
		{"id and ID in JSON in base64", `{"payload":"` + b64(`{"id":"a","ID":"b"}`) + `","contentType":"application/json"}`, "stands twice"},
		{"id and ID in bytes", "\xa2\x67payload\x4b\xa2\x62id\x61a\x62ID\x61b\x6bcontentType\x70application/cbor", "stands twice"},
		{"id is a number", `{"id":1}`, "id is integer: want text"},
		{"readings is text", `{"readings":"x"}`, "readings is text: want list"},
		{"tags is a list", `{"id":"a","tags":[]}`, "tags is list: want map"},
		{"origin is text", `{"id":"a","origin":"1"}`, "origin is text: want integer"},
		{"event within an event", `{"id":"a","event":{"id":"b"}}`, "the key event beside"},
		{"event around an event", `{"event":{"id":"b"},"id":"a"}`, "the key id beside"},
		{"event in an envelope within an event", `{"payload":{"deviceName":"a","event":{"id":"b"}},"contentType":"application/json"}`, "the key event beside"},
		{"payload in an event", "\xa2\x62id\x61a\x67payload\xa0", "the key payload beside"},
		{"event beside a payload", `{"payload":` + event + `,"event":` + event + `,"contentType":"application/json"}`, "the key event beside"},
		{"id of an envelope", `{"payload":` + event + `,"id":"a","contentType":"application/json"}`, "the key id beside"},
		{"no content type", `{"payload":` + event + `}`, "no contentType"},
		{"content type of another format", `{"payload":` + event + `,"contentType":"application/cbor"}`, "application/cbor"},
		{"content type of another format, base64", `{"payload":"` + b64(inCBOR) + `","contentType":"application/json"}`, "application/json"},
		{"trailing", `{"id":"a"} x`, "behind the message"},
		{"trailing in base64", `{"payload":"` + b64(inCBOR+"\x00") + `","contentType":"application/cbor"}`, "behind the message"},
		{"cut base64", `{"payload":"` + b64(inCBOR), "the payload was cut"},
		{"short base64", `{"payload":"` + b64(inCBOR + "x")[:24] + `","contentType":"application/cbor"}`, ""},
		{"base64 with a space", `{"payload":"` + b64(inCBOR)[:8] + " " + b64(inCBOR)[8:] + `"}`, `' ' in base64`},
		{"base64 with an escape", `{"payload":"` + b64(inCBOR)[:8] + `\n` + b64(inCBOR)[8:] + `"}`, `'\\' in base64`},
		{"base64 for URLs", `{"payload":"` + b64(inCBOR)[:8] + `-_-_"}`, `'-' in base64`},
		{"base64 of three characters", `{"payload":"` + b64(inCBOR)[:11] + `"}`, "no multiple of four"},
		{"padding inside", `{"payload":"` + b64(inCBOR)[:8] + `AA==AAAA"}`, `'A' in base64`},
		{"padding not canonical", `{"payload":"` + strings.TrimSuffix(b64(inCBOR), "A==") + `B=="}`, ""},
		{"not UTF-8 in base64", `{"payload":"` + b64("\xa1\x62id\x61\xff") + `","contentType":"application/cbor"}`, "not UTF-8"},
		{"string beyond the end of base64", `{"payload":"` + b64("\xa1\x62id\x58\xff") + `","contentType":"application/cbor"}`, "EOF"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			var v edgex.View
			err := v.Open([]byte(r.data), 0)
			if err == nil {
				err = v.Validate()
			}
			if err == nil || !strings.Contains(err.Error(), r.want) || !strings.HasPrefix(err.Error(), "edgex: ") {
				t.Errorf("Validate = %v, want an error with %q", err, r.want)
			}
		})
	}
}

// TestDamagedBase64 replaces each character of the payload with each character that base64 does not use.
func TestDamagedBase64(t *testing.T) {
	data := forms[3].wrap(t, vectors(t)[0].cbor(t), nil)
	start := bytes.Index(data, []byte(`"payload":"`)) + len(`"payload":"`)
	end := start + bytes.IndexByte(data[start:], '"')
	for at := start; at < end; at++ {
		good := data[at]
		for c := range 256 {
			if bytes.IndexByte([]byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"), byte(c)) >= 0 || byte(c) == good {
				continue
			}
			data[at] = byte(c)
			var v edgex.View
			err := v.Open(data, 0)
			if err == nil {
				err = v.Validate()
			}
			if err == nil {
				t.Fatalf("character %d is 0x%02x: no error", at-start, c)
			}
		}
		data[at] = good
	}
}

func TestCut(t *testing.T) {
	eachForm(t, func(t *testing.T, _ edgex.Form, data []byte) {
		for n := range data {
			var v edgex.View
			if v.Open(data[:n:n], 0) == nil && v.Validate() == nil {
				t.Fatalf("%d of %d bytes are valid", n, len(data))
			}
		}
	})
}

// large returns an event of 12 MB in each form.
func large(t testing.TB) map[edgex.Form][]byte {
	e := edgex.NewEvent("P", "D", "S")
	check(t, e.AddSimple("a", edgex.Int32, int32(1)))
	size := 12 << 20
	if testing.Short() {
		size = 1 << 20
	}
	value := make([]byte, size)
	for i := range value {
		value[i] = byte(i * i >> 7)
	}
	e.AddBinary("b", value, "image/png")
	e.Tags = map[string]any{"site": "Dock-4"}
	request := edgex.NewAddEventRequest(e)
	inCBOR, err := cborcodec.Codec{}.Marshal(request)
	check(t, err)
	inJSON, err := jsoncodec.Codec{}.Marshal(request)
	check(t, err)
	all := map[edgex.Form][]byte{}
	for _, f := range forms {
		all[f.form] = f.wrap(t, inCBOR, inJSON)
	}
	return all
}

func TestLarge(t *testing.T) {
	for form, data := range large(t) {
		t.Run(form.String(), func(t *testing.T) {
			want, _ := decode(t, form, data)
			v := valid(t, data)
			check(t, v.SetDeviceName("pump-1"))
			check(t, v.SetTags(edgex.Tag{Name: "site", Value: "Dock-50"}))
			changed, err := v.AppendTo(make([]byte, 0, len(data)+100))
			check(t, err)
			got, _ := decode(t, form, changed)
			want.DeviceName, want.Tags["site"] = "pump-1", "Dock-50"
			for i := range want.Readings {
				want.Readings[i].DeviceName = "pump-1"
			}
			if !reflect.DeepEqual(got, want) {
				t.Error("the changed event differs in something else")
			}
			valid(t, changed)
		})
	}
}

// TestHopAllocatesNothing also cuts the message after its first 600 bytes. So a View that reads further would fail.
func TestHopAllocatesNothing(t *testing.T) {
	for form, data := range large(t) {
		if form == edgex.Base64JSON {
			continue // Open decodes this form, which allocates
		}
		var v edgex.View
		hop := func() {
			if err := v.Open(data, 0); err != nil {
				t.Fatal(err)
			}
			if name, err := v.DeviceName(); err != nil || string(name) != "D" {
				t.Fatalf("device = %q, %v", name, err)
			}
			check(t, v.SetID(newID))
			if form != edgex.CBOR && form != edgex.JSON {
				check(t, v.SetCorrelationID(newID))
			}
			if done, err := v.InPlace(); !done || err != nil {
				t.Fatal(done, err)
			}
		}
		if n := testing.AllocsPerRun(10, hop); n != 0 {
			t.Errorf("%v: %v allocations", form, n)
		}
		if form != edgex.CBORBytes { // in this form, Open checks that the payload is complete
			data = data[:800:800]
			hop()
		}
	}
}

// TestSetStaysValid sets values that would make the event invalid. Each must be an error.
func TestSetStaysValid(t *testing.T) {
	for _, data := range []string{
		`{"id":"a","sourceName":"all","tags":{"Site":"x"}}`,
		"\xa3\x62id\x61a\x6asourceName\x63all\x64tags\xa1\x64Site\x61x",
	} {
		var v edgex.View
		check(t, v.Open([]byte(data), 0))
		check(t, v.Validate())
		for want, err := range map[string]error{
			`set id: "\xff" is not UTF-8`:                 v.SetID("\xff"),
			`set sourceName: "\xff" is not UTF-8`:         v.SetSourceName("\xff"),
			`tag "a" with the value "\xff" is not UTF-8`:  v.SetTags(edgex.Tag{Name: "a", Value: "\xff"}),
			`tag "\xff" with the value "" is not UTF-8`:   v.SetTags(edgex.Tag{Name: "\xff"}),
			`tag "DOCK" is given twice, as "dock" before`: v.SetTags(edgex.Tag{Name: "dock"}, edgex.Tag{Name: "DOCK"}),
			`tag "site" differs only in case from "Site"`: v.SetTags(edgex.Tag{Name: "new"}, edgex.Tag{Name: "site"}),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), "edgex: "+want) {
				t.Errorf("%v form: got %v, want %s", v.Form(), err, want)
			}
		}
		if got, err := v.AppendTo(nil); v.Changed() || err != nil || string(got) != data {
			t.Errorf("%v form: %q, %v is left of refused changes, want %q", v.Form(), got, err, data)
		}
	}
}
