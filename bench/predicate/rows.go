package main

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"time"

	"cel.dev/cel-go/cel"
	"github.com/bytedance/sonic"
	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
	"github.com/fxamacker/cbor/v2"
	"github.com/ugorji/go/codec"
	"github.com/vmihailenco/msgpack/v5"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/encoding/protowire"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/field"
	"example.com/ferry/format"
	ferrybson "example.com/ferry/format/bson"
	ferrycbor "example.com/ferry/format/cbor"
	ferryjson "example.com/ferry/format/json"
	ferrymsgpack "example.com/ferry/format/msgpack"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/y3"
)

// form is one format of the events, and a case of the benchmark.
type form struct {
	name   string
	encode func(*event) []byte
	format format.Format
	filter string
}

const named = `deviceName == "pump-1" && readings.0.value > 30`

var forms = []form{
	{"CBOR", encodeCBOR, ferrycbor.Format{}, named},
	{"JSON", encodeJSON, ferryjson.Format{}, named},
	{"MessagePack", encodeMsgpack, ferrymsgpack.Format{}, named},
	{"BSON", encodeBSON, ferrybson.Format{}, named},
	{"Y3", encodeY3, y3.Format{}, `string(0x00.0x03) == "pump-1" && float64(0x00.0x07.0.0x07) > 30`},
	{"protobuf", encodeProtobuf, protobuf.Format{}, `string(3) == "pump-1" && float64(7.7) > 30`},
	// PB 	{"protobuf", encodeProtobuf, protobuf.Format{}, `string(3) == "pump-1" && float64(7.7) > 30`},
}

// decide reports whether a message passes; an error means that it does not.
type decide func(doc []byte) bool

// contender is one measured filter, and a row of the report. It has a decide function for each form that it supports.
type contender struct {
	name    string
	kind    harness.Kind
	version string
	by      map[string]decide
}

func ferryRow(name string, validate bool) contender {
	by := map[string]decide{}
	for _, f := range forms {
		m := format.NewMatcher(f.format, field.MustParsePredicate(f.filter))
		by[f.name] = func(doc []byte) bool {
			if validate && f.format.Validate(doc, format.Options{}) != nil {
				return false
			}
			ok, mismatch, err := m.Match(doc)
			return ok && !mismatch && err == nil
		}
	}
	return contender{name, harness.Ferry, "this commit", by}
}

// decoder reads a whole message into v.
type decoder func(doc []byte, v any) error

// libraries decode each form: the ones most used, and the fastest ones.
var libraries = []struct {
	name, version string
	decode        map[string]decoder
}{
	{
		"usual library",
		"fxamacker " + harness.Version("github.com/fxamacker/cbor/v2") + ", encoding/json of " + runtime.Version() + ", vmihailenco " + harness.Version("github.com/vmihailenco/msgpack/v5") +
			", mongo-driver " + harness.Version("go.mongodb.org/mongo-driver/v2") + ", protowire " + harness.Version("google.golang.org/protobuf"),
		map[string]decoder{"CBOR": cbor.Unmarshal, "JSON": json.Unmarshal, "MessagePack": msgpack.Unmarshal, "BSON": bson.Unmarshal, "protobuf": decodeProtobuf},
	},
	{
		"fastest library",
		"ugorji " + harness.Version("github.com/ugorji/go/codec") + " without copies, sonic " + harness.Version("github.com/bytedance/sonic"),
		map[string]decoder{"CBOR": ugorji(new(codec.CborHandle)), "JSON": sonic.Unmarshal, "MessagePack": ugorji(new(codec.MsgpackHandle))},
	},
}

// ugorji's decoder is reused, and its texts are slices of the message.
func ugorji(h codec.Handle) decoder {
	switch h := h.(type) {
	case *codec.CborHandle:
		h.ZeroCopy = true
	case *codec.MsgpackHandle:
		h.ZeroCopy, h.WriteExt = true, true
	}
	d := codec.NewDecoderBytes(nil, h)
	return func(doc []byte, v any) error {
		d.ResetBytes(doc)
		return d.Decode(v)
	}
}

// decodeProtobuf is what a generator would write.
func decodeProtobuf(doc []byte, v any) error {
	e := v.(*event)
	return fieldsOf(doc, func(number protowire.Number, bits uint64, content []byte) error {
		if number == 7 {
			r := reading{}
			if err := fieldsOf(content, r.set); err != nil {
				return err
			}
			e.Readings = append(e.Readings, r)
			return nil
		}
		switch number {
		case 1:
			e.APIVersion = string(content)
		case 2:
			e.ID = string(content)
		case 3:
			e.DeviceName = string(content)
		case 4:
			e.ProfileName = string(content)
		case 5:
			e.SourceName = string(content)
		case 6:
			e.Origin = int64(bits)
		}
		return nil
	})
}

func (r *reading) set(number protowire.Number, bits uint64, content []byte) error {
	switch number {
	case 1:
		r.ID = string(content)
	case 2:
		r.Origin = int64(bits)
	case 3:
		r.DeviceName = string(content)
	case 4:
		r.ResourceName = string(content)
	case 5:
		r.ProfileName = string(content)
	case 6:
		r.ValueType = string(content)
	case 7:
		r.Value = math.Float64frombits(bits)
	}
	return nil
}

func fieldsOf(doc []byte, set func(number protowire.Number, bits uint64, content []byte) error) error {
	for len(doc) > 0 {
		number, kind, n := protowire.ConsumeTag(doc)
		if n < 0 {
			return protowire.ParseError(n)
		}
		doc = doc[n:]
		var bits uint64
		var content []byte
		switch kind {
		case protowire.VarintType:
			bits, n = protowire.ConsumeVarint(doc)
		case protowire.Fixed64Type:
			bits, n = protowire.ConsumeFixed64(doc)
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(doc)
		default:
			return fmt.Errorf("field %d has wire type %d, which no event has", number, kind)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := set(number, bits, content); err != nil {
			return err
		}
		doc = doc[n:]
	}
	return nil
}

// decodeRow decodes to the struct and lets test decide.
func decodeRow(name, version string, decode map[string]decoder, test func(*event) bool) contender {
	by := map[string]decide{}
	for form, decode := range decode {
		by[form] = func(doc []byte) bool {
			var e event
			return decode(doc, &e) == nil && test(&e)
		}
	}
	return contender{name, harness.Peer, version, by}
}

// exprTest runs a compiled expression of expr on the decoded struct.
func exprTest() func(*event) bool {
	p, err := expr.Compile(`deviceName == "pump-1" && readings[0].value > 30`, expr.Env(&event{}), expr.AsBool())
	if err != nil {
		panic(err) // a constant of this program
	}
	machine := vm.VM{}
	return func(e *event) bool {
		out, err := machine.Run(p, e)
		return err == nil && out == true
	}
}

// celTest runs a compiled expression of CEL on the two fields of the decoded struct: CEL takes no Go structs by itself.
func celTest() func(*event) bool {
	env, err := cel.NewEnv(cel.Variable("deviceName", cel.StringType), cel.Variable("value", cel.DoubleType))
	if err != nil {
		panic(err) // constants of this program
	}
	ast, issues := env.Compile(`deviceName == "pump-1" && value > 30.0`)
	if issues.Err() != nil {
		panic(issues.Err()) // a constant of this program
	}
	p, err := env.Program(ast)
	if err != nil {
		panic(err) // a constant of this program
	}
	return func(e *event) bool {
		out, _, err := p.Eval(map[string]any{"deviceName": e.DeviceName, "value": e.Readings[0].Value})
		return err == nil && out.Value() == true
	}
}

func contenders() []contender {
	rows := []contender{ferryRow(ferry, false), ferryRow(ferryValidated, true)}
	tests := []struct {
		name, version string
		test          func(*event) bool
	}{
		{"Go", "", (*event).passes},
		{"expr", ", expr " + harness.Version("github.com/expr-lang/expr"), exprTest()},
		{"CEL", ", cel-go " + harness.Version("cel.dev/cel-go"), celTest()},
	}
	for _, l := range libraries {
		for _, t := range tests {
			rows = append(rows, decodeRow(l.name+" to a struct, then "+t.name, l.version+t.version, l.decode, t.test))
		}
	}
	return rows
}

// measure times one contender in one form. It returns nil if the contender does not support the form.
func (c contender) measure(f form, budget time.Duration) harness.Figures {
	decide := c.by[f.name]
	if decide == nil {
		return nil
	}
	var docs [][]byte
	for _, e := range events() {
		docs = append(docs, f.encode(e))
	}
	return harness.Time(func(n int) {
		passed, mask := 0, len(docs)-1
		for i := range n {
			if decide(docs[i&mask]) {
				passed++
			}
		}
		runtime.KeepAlive(passed)
	}, budget)
}
