package edgex_test

import (
	"bytes"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"example.com/ferry/codec"
	cborcodec "example.com/ferry/codec/cbor"
	jsoncodec "example.com/ferry/codec/json"
	"example.com/ferry/edgex"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
)

type vector struct{ Name, Hex, JSON string }

// vectors returns the messages in testdata, which go-mod-core-contracts v4.0.3 wrote.
func vectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := stdjson.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no vectors")
	}
	return all
}

func (v vector) cbor(t testing.TB) []byte {
	t.Helper()
	data, err := hex.DecodeString(v.Hex)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// target returns a new value of the vector's type.
func (v vector) target() any {
	if strings.HasPrefix(v.Name, "addeventrequest") {
		return new(edgex.AddEventRequest)
	}
	return new(edgex.Event)
}

func TestVectorsThereAndBack(t *testing.T) {
	for _, v := range vectors(t) {
		for _, form := range []struct {
			codec codec.Codec
			data  []byte
		}{{cborcodec.Codec{}, v.cbor(t)}, {jsoncodec.Codec{}, []byte(v.JSON)}} {
			t.Run(v.Name+"/"+form.codec.Name(), func(t *testing.T) {
				got := v.target()
				if err := edgex.Unmarshal(form.codec, form.data, got, 0); err != nil {
					t.Fatalf("Unmarshal: %v", err)
				}
				again, err := form.codec.Marshal(reflect.ValueOf(got).Elem().Interface())
				if err != nil {
					t.Fatalf("Marshal: %v", err)
				}
				if !bytes.Equal(again, form.data) {
					t.Errorf("Marshal = %q\nwant      %q", again, form.data)
				}
			})
		}
	}
}

func TestFormsAgree(t *testing.T) {
	for _, v := range vectors(t) {
		fromCBOR := v.target()
		if err := edgex.Unmarshal(cborcodec.Codec{}, v.cbor(t), fromCBOR, 0); err != nil {
			t.Fatal(err)
		}
		got, err := jsoncodec.Codec{}.Marshal(fromCBOR)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != v.JSON {
			t.Errorf("%s: CBOR as JSON = %s\nwant %s", v.Name, got, v.JSON)
		}
	}
}

func TestKnownEvent(t *testing.T) {
	for _, v := range vectors(t) {
		if v.Name != "event_simple" {
			continue
		}
		var e edgex.Event
		if err := edgex.Unmarshal(cborcodec.Codec{}, v.cbor(t), &e, 0); err != nil {
			t.Fatal(err)
		}
		want := edgex.Event{
			APIVersion: "v3", ID: "d5471d59-2810-419a-8744-18eb8fad3465", DeviceName: "Dev", ProfileName: "Prof",
			SourceName: "Src", Origin: 1602168089665565200,
			Readings: []edgex.Reading{{
				ID: "7003cacc-0e00-4676-977c-4e58b9612abd", Origin: 1602168089665565200, DeviceName: "Dev",
				ResourceName: "Res", ProfileName: "Prof", ValueType: "Int32", Units: "degC", Value: "-42",
			}},
		}
		if !reflect.DeepEqual(e, want) {
			t.Errorf("got  %+v\nwant %+v", e, want)
		}
		return
	}
	t.Fatal("no vector event_simple")
}

func TestFormatValue(t *testing.T) {
	rows := []struct {
		valueType string
		value     any
		want      string // empty if FormatValue must return an error
	}{
		{edgex.Bool, true, "true"},
		{edgex.String, "ä b", "ä b"},
		{edgex.Int32, int32(-42), "-42"},
		{edgex.Uint64, uint64(math.MaxUint64), "18446744073709551615"},
		{edgex.Float64, 1.5, "1.5e+00"},
		{edgex.Float32, float32(0.1), "1e-01"},
		{edgex.Float64, math.Inf(1), "+Inf"},
		{"Int16Array", []int16{1, -2, 3}, "[1, -2, 3]"},
		{"Float32Array", []float32{1.5, 0.25}, "[1.5e+00, 2.5e-01]"},
		{"BoolArray", []bool{true, false}, "[true, false]"},
		{"StringArray", []string{"a", "b c", `"`}, `["a","b c","\""]`},
		{"StringArray", []string(nil), "[]"},
		{"StringArray", []string{"a", "\xff"}, ""},
		{"Uint8Array", []byte{1, 2}, "[1, 2]"},
		{"Int16Array", []int16{}, "[]"},
		{edgex.Int32, int64(1), ""},
		{edgex.Int32, nil, ""},
		{edgex.Int32, []int32{1}, ""},
		{"Int32Array", int32(1), ""},
		{"Int32Array", []int64{1}, ""},
		{edgex.Binary, []byte{1}, ""},
		{"ObjectArray", []any{1}, ""},
		{"", 1, ""},
	}
	for _, r := range rows {
		t.Run(fmt.Sprintf("%s %T", r.valueType, r.value), func(t *testing.T) {
			got, err := edgex.FormatValue(r.valueType, r.value)
			if got != r.want || (err == nil) != (r.want != "") {
				t.Errorf("FormatValue = %q, %v, want %q", got, err, r.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "edgex: ") {
				t.Errorf("error %q does not name its package", err)
			}
		})
	}
}

func TestNewEventThereAndBack(t *testing.T) {
	e := edgex.NewEvent("Profile", "pump-1", "all")
	if err := e.AddSimple("pressure", edgex.Float64, 1.5); err != nil {
		t.Fatal(err)
	}
	if err := e.AddSimple("steps", "Int16Array", []int16{1, -2}); err != nil {
		t.Fatal(err)
	}
	e.AddBinary("image", []byte{0, 255}, "image/png")
	e.AddObject("state", map[string]any{"on": true, "name": "ä"})
	e.AddNull("broken", edgex.Int32)
	e.AddNull("gone", edgex.Binary)
	e.Tags = map[string]any{"site": "Dock-4"}
	e.Extensions = map[string]any{"x-region": "north", "a": true}
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if !uuid.MatchString(e.ID) || !uuid.MatchString(e.Readings[0].ID) || e.ID == e.Readings[0].ID {
		t.Errorf("IDs %q and %q, want two different UUIDs of version 4", e.ID, e.Readings[0].ID)
	}
	request := edgex.NewAddEventRequest(e)
	for _, c := range []codec.Codec{cborcodec.Codec{}, jsoncodec.Codec{}} {
		data, err := c.Marshal(request)
		if err != nil {
			t.Fatalf("%s: %v", c.Name(), err)
		}
		var got edgex.AddEventRequest
		if err := edgex.Unmarshal(c, data, &got, 0); err != nil {
			t.Fatalf("%s: %v", c.Name(), err)
		}
		if !reflect.DeepEqual(got, request) {
			t.Errorf("%s: got  %+v\nwant %+v", c.Name(), got, request)
		}
	}
}

func TestNumbersAreExact(t *testing.T) {
	e := edgex.NewEvent("P", "D", "S")
	e.AddObject("o", map[string]any{"big": uint64(math.MaxUint64), "id": int64(math.MinInt64), "f": 1.5})
	e.Extensions = map[string]any{"seq": int64(9007199254740993)}
	for _, c := range []codec.Codec{cborcodec.Codec{}, jsoncodec.Codec{}} {
		data, err := c.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var got edgex.Event
		if err := edgex.Unmarshal(c, data, &got, 0); err != nil {
			t.Fatal(err)
		}
		want := `map[big:18446744073709551615 f:1.5 id:-9223372036854775808] map[seq:9007199254740993]`
		if s := fmt.Sprint(got.Readings[0].ObjectValue, got.Extensions); s != want {
			t.Errorf("%s: %s, want %s", c.Name(), s, want)
		}
	}
}

func TestManyExtensions(t *testing.T) {
	for _, n := range []int{1, 16, 17, 300} {
		e := edgex.NewEvent("P", "D", "S")
		e.Extensions = map[string]any{}
		for i := range n {
			e.Extensions[fmt.Sprintf("x%03d", i)] = "v"
		}
		data, err := cborcodec.Codec{}.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := (cbor.Format{}).Validate(data, format.Options{}); err != nil {
			t.Errorf("%d extensions: %v", n, err)
		}
		var got edgex.Event
		if err := edgex.Unmarshal(cborcodec.Codec{}, data, &got, 0); err != nil || len(got.Extensions) != n {
			t.Errorf("%d extensions: got %d, %v", n, len(got.Extensions), err)
		}
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	rows := []struct {
		name  string
		codec codec.Codec
		data  string
		limit int
		want  string
	}{
		{"too long", jsoncodec.Codec{}, strings.Repeat(" ", 101), 100, "exceeds the limit of 100"},
		{"trailing CBOR", cborcodec.Codec{}, "\xa0\x00", 0, "extraneous"},
		{"trailing JSON", jsoncodec.Codec{}, `{} {}`, 0, "after top-level value"},
		{"duplicate id", cborcodec.Codec{}, "\xa2\x62id\x61a\x62id\x61b", 0, "duplicate"},
		{"id is a number", cborcodec.Codec{}, "\xa1\x62id\x01", 0, "field id"},
		{"origin is text", jsoncodec.Codec{}, `{"origin":"now"}`, 0, "field origin"},
		{"origin beyond int64", cborcodec.Codec{}, "\xa1\x66origin\x1b\xff\xff\xff\xff\xff\xff\xff\xff", 0, "field origin"},
		{"readings is a map", cborcodec.Codec{}, "\xa1\x68readings\xa1\x61a\x01", 0, "field readings"},
		{"2^63 bytes announced", cborcodec.Codec{}, "\xa1\x62id\x5b\x7f\xff\xff\xff\xff\xff\xff\xff", 0, "cbor"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			var e edgex.Event
			err := edgex.Unmarshal(r.codec, []byte(r.data), &e, r.limit)
			if err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("error = %v, want one with %q", err, r.want)
			}
		})
	}
}

func TestExtensionMayNotHideField(t *testing.T) {
	e := edgex.NewEvent("P", "D", "S")
	e.Extensions = map[string]any{"id": "other"}
	for _, c := range []codec.Codec{cborcodec.Codec{}, jsoncodec.Codec{}} {
		if _, err := c.Marshal(e); err == nil || !strings.Contains(err.Error(), `"id"`) {
			t.Errorf("%s: error = %v, want one that names the extension", c.Name(), err)
		}
	}
}

func TestKeysMatchInCase(t *testing.T) {
	var e edgex.Event
	if err := edgex.Unmarshal(jsoncodec.Codec{}, []byte(`{"ID":"x","id":"y"}`), &e, 0); err != nil {
		t.Fatal(err)
	}
	if e.ID != "y" || e.Extensions["ID"] != "x" {
		t.Errorf("ID %q, extensions %v, want y and the key ID kept", e.ID, e.Extensions)
	}
}

func TestEnvelope(t *testing.T) {
	e := edgex.NewEvent("P", "D", "S")
	envelope := edgex.MessageEnvelope{
		APIVersion: edgex.APIVersion, ReceivedTopic: "", CorrelationID: "c", RequestID: "r",
		Payload: edgex.NewAddEventRequest(e), ContentType: "application/json",
	}
	data, err := jsoncodec.Codec{}.Marshal(envelope)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"v3","receivedTopic":"","correlationID":"c","requestID":"r","errorCode":0,"payload":{"apiVersion":"v3","requestId":`
	if !strings.HasPrefix(string(data), want) {
		t.Errorf("envelope = %s\nwant it to begin %s", data, want)
	}
}

func TestSetID(t *testing.T) {
	const id, other = "d5471d59-2810-419a-8744-18eb8fad3465", "00000000-0000-4000-8000-00000000000f"
	for _, v := range vectors(t) {
		for _, form := range []struct {
			format interface {
				format.Format
				format.Patcher
			}
			data []byte
		}{{cbor.Format{}, v.cbor(t)}, {json.Format{}, []byte(v.JSON)}} {
			t.Run(v.Name+"/"+form.format.Name(), func(t *testing.T) {
				data := bytes.Clone(form.data)
				edited, err := edgex.SetID(form.format, data, other)
				if err != nil {
					t.Fatal(err)
				}
				if &edited[0] != &data[0] {
					t.Error("an ID of the same length was not set in place")
				}
				if !bytes.Equal(edited, bytes.Replace(form.data, []byte(id), []byte(other), 1)) {
					t.Error("SetID changed something else")
				}
				short, err := edgex.SetID(form.format, edited, "short")
				if err != nil {
					t.Fatal(err)
				}
				back, err := edgex.SetID(form.format, short, id)
				if err != nil || !bytes.Equal(back, form.data) {
					t.Errorf("there and back by another length: %v, equal %v", err, bytes.Equal(back, form.data))
				}
			})
		}
	}
}

func TestSetRefuses(t *testing.T) {
	if _, err := edgex.SetID(cbor.Format{}, []byte{0xa0}, "x"); !errors.Is(err, field.ErrNotFound) {
		t.Errorf("no ID: %v, want field.ErrNotFound", err)
	}
	if _, err := edgex.SetID(cbor.Format{}, []byte("\xa1\x62id\x01"), "x"); err == nil {
		t.Error("the ID is a number: no error")
	}
	if _, err := edgex.SetID(cbor.Format{}, []byte("\xa1\x62i"), "x"); err == nil {
		t.Error("cut: no error")
	}
}

func FuzzUnmarshalCBOR(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.cbor(f))
	}
	f.Fuzz(func(t *testing.T, data []byte) { roundTrip(t, cborcodec.Codec{}, data) })
}

func FuzzUnmarshalJSON(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte(v.JSON))
	}
	f.Fuzz(func(t *testing.T, data []byte) { roundTrip(t, jsoncodec.Codec{}, data) })
}

// roundTrip encodes a decoded value, decodes the result and encodes again. Both encodings must be equal.
func roundTrip(t *testing.T, c codec.Codec, data []byte) {
	var e edgex.Event
	if edgex.Unmarshal(c, data, &e, 0) != nil {
		return
	}
	first, err := c.Marshal(e)
	if err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	var again edgex.Event
	if err := edgex.Unmarshal(c, first, &again, 0); err != nil {
		t.Fatalf("what was written cannot be read: %v", err)
	}
	if again.ID != e.ID || again.Origin != e.Origin || len(again.Readings) != len(e.Readings) || len(again.Extensions) != len(e.Extensions) {
		t.Fatalf("there and back: got %+v, want %+v", again, e)
	}
}
