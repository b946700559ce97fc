package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/fxamacker/cbor/v2"
	"github.com/vmihailenco/msgpack/v5"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/encoding/protowire"

	"example.com/ferry/format/y3"
)

// event is a measurement of a device, about 1 kB in JSON.
type event struct {
	APIVersion  string    `json:"apiVersion" msgpack:"apiVersion" bson:"apiVersion" expr:"apiVersion"`
	ID          string    `json:"id" msgpack:"id" bson:"id" expr:"id"`
	DeviceName  string    `json:"deviceName" msgpack:"deviceName" bson:"deviceName" expr:"deviceName"`
	ProfileName string    `json:"profileName" msgpack:"profileName" bson:"profileName" expr:"profileName"`
	SourceName  string    `json:"sourceName" msgpack:"sourceName" bson:"sourceName" expr:"sourceName"`
	Origin      int64     `json:"origin" msgpack:"origin" bson:"origin" expr:"origin"`
	Readings    []reading `json:"readings" msgpack:"readings" bson:"readings" expr:"readings"`
}

type reading struct {
	ID           string  `json:"id" msgpack:"id" bson:"id" expr:"id"`
	Origin       int64   `json:"origin" msgpack:"origin" bson:"origin" expr:"origin"`
	DeviceName   string  `json:"deviceName" msgpack:"deviceName" bson:"deviceName" expr:"deviceName"`
	ResourceName string  `json:"resourceName" msgpack:"resourceName" bson:"resourceName" expr:"resourceName"`
	ProfileName  string  `json:"profileName" msgpack:"profileName" bson:"profileName" expr:"profileName"`
	ValueType    string  `json:"valueType" msgpack:"valueType" bson:"valueType" expr:"valueType"`
	Value        float64 `json:"value" msgpack:"value" bson:"value" expr:"value"`
}

// The filter: two fields, one in the event and one in its first reading.
const (
	wantDevice = "pump-1"
	wantValue  = 30.0
)

func (e *event) passes() bool {
	return e.DeviceName == wantDevice && len(e.Readings) > 0 && e.Readings[0].Value > wantValue
}

func newEvent(n int, device string, value float64) *event {
	id := func(i int) string { return fmt.Sprintf("d5471d59-2810-419a-8744-%012d", 100*n+i) }
	e := &event{"v3", id(0), device, "pump", "telemetry", 1600000000000000000 + int64(n), nil}
	for i, resource := range []string{"pressure", "temperature", "current", "vibration", "flow"} {
		e.Readings = append(e.Readings, reading{id(i + 1), e.Origin, device, resource, "pump", "Float64", value + float64(i)})
	}
	return e
}

// events take turns. Each of the two fields lets only a part of them pass. Their number is a power of two.
func events() (all []*event) {
	for n := range 16 {
		device, value := wantDevice, 31.5
		if n%4 == 1 {
			device = "pump-2"
		}
		if n%4 == 2 {
			value = 29.25
		}
		all = append(all, newEvent(n, device, value))
	}
	return all
}

func mustBytes(b []byte, err error) []byte {
	if err != nil {
		panic(err) // a constant of this program cannot be encoded
	}
	return b
}

func encodeJSON(e *event) []byte { return mustBytes(json.Marshal(e)) }

func encodeCBOR(e *event) []byte { return mustBytes(cbor.Marshal(e)) }

func encodeMsgpack(e *event) []byte { return mustBytes(msgpack.Marshal(e)) }

func encodeBSON(e *event) []byte { return mustBytes(bson.Marshal(e)) }

// encodeY3 numbers the fields in their order, from 1.
func encodeY3(e *event) []byte {
	b := y3.NewBuilder(y3.P)
	b.Node(0x00)
	for i, text := range []string{e.APIVersion, e.ID, e.DeviceName, e.ProfileName, e.SourceName} {
		b.String(1+i, text)
	}
	b.Int64(6, e.Origin)
	b.Slice(7)
	for _, r := range e.Readings {
		b.Node(y3.Item)
		b.String(1, r.ID)
		b.Int64(2, r.Origin)
		for i, text := range []string{r.DeviceName, r.ResourceName, r.ProfileName, r.ValueType} {
			b.String(3+i, text)
		}
		b.Float64(7, r.Value)
		b.End()
	}
	b.End()
	b.End()
	return mustBytes(b.Message())
}

// encodeProtobuf numbers the fields in their order, from 1.
func encodeProtobuf(e *event) (b []byte) {
	for i, text := range []string{e.APIVersion, e.ID, e.DeviceName, e.ProfileName, e.SourceName} {
		b = protowire.AppendString(protowire.AppendTag(b, protowire.Number(1+i), protowire.BytesType), text)
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, 6, protowire.VarintType), uint64(e.Origin))
	for _, r := range e.Readings {
		in := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), r.ID)
		in = protowire.AppendVarint(protowire.AppendTag(in, 2, protowire.VarintType), uint64(r.Origin))
		for i, text := range []string{r.DeviceName, r.ResourceName, r.ProfileName, r.ValueType} {
			in = protowire.AppendString(protowire.AppendTag(in, protowire.Number(3+i), protowire.BytesType), text)
		}
		in = protowire.AppendFixed64(protowire.AppendTag(in, 7, protowire.Fixed64Type), math.Float64bits(r.Value))
		b = protowire.AppendBytes(protowire.AppendTag(b, 7, protowire.BytesType), in)
	}
	return b
}

// checkSize checks the size of the events.
func checkSize() error {
	for _, e := range events() {
		if size := len(encodeJSON(e)); size < 1000 || size > 1100 {
			return fmt.Errorf("an event has %d bytes of JSON, want about 1 kB: %s", size, strings.TrimSpace(string(encodeJSON(e))))
		}
	}
	return nil
}
