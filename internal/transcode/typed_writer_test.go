package transcode_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/bson"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/format/msgpack"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/schema"
	"example.com/ferry/format/y3"
	"example.com/ferry/internal/transcode"
)

// document generates a random schema and a random message of it.
type document struct {
	*rand.Rand
	y3    *y3.Builder
	lists bool // with lists, which dialect N does not have
	big   bool // with integers above the largest int64, which BSON does not have
}

// shape returns a random message type with a few fields.
func (d *document) shape(depth int) *schema.Message {
	m := &schema.Message{Name: "M"}
	for i, key := range d.Perm(62)[:1+d.IntN(7)] {
		f := schema.Field{Name: fmt.Sprintf("f%d", i), Number: key + 1, Type: schema.Type(d.IntN(int(schema.Sfixed64) + 1))}
		if f.Type == schema.Nested && depth == 0 {
			f.Type = schema.Float32
		}
		if f.Type == schema.Nested {
			f.Message = d.shape(depth - 1)
		}
		f.Repeated = d.lists && d.IntN(4) == 0
		m.Fields = append(m.Fields, f)
	}
	return m
}

// fill writes a random message of type m. It has at least one of the fields.
func (d *document) fill(m *schema.Message) {
	for i := range m.Fields {
		f := m.Fields[i]
		switch {
		case i > 0 && d.IntN(5) == 0:
		case f.Repeated:
			d.y3.Slice(f.Number)
			for range 1 + d.IntN(3) {
				d.value(y3.Item, &f)
			}
			d.y3.End()
		default:
			d.value(f.Number, &f)
		}
	}
}

func (d *document) value(key int, f *schema.Field) {
	n := d.Uint64() >> d.IntN(64)
	sign := int64(1 - 2*d.IntN(2))
	switch f.Type {
	case schema.Nested:
		d.y3.Node(key)
		d.fill(f.Message)
		d.y3.End()
	case schema.Bool:
		d.y3.Bool(key, n%2 == 0)
	case schema.String:
		d.y3.String(key, []string{"", "dB", "größer \"als\"\n", "0x10", "AP8="}[n%5])
	case schema.Bytes:
		d.y3.Bytes(key, []byte{0xff, 0, byte(n)}[:n%4])
	case schema.Int32, schema.Sint32, schema.Sfixed32:
		d.y3.Int32(key, int32(n))
	case schema.Uint32, schema.Fixed32:
		d.y3.Uint32(key, uint32(n))
	case schema.Int64, schema.Sint64, schema.Sfixed64:
		d.y3.Int64(key, int64(n)*sign)
	case schema.Uint64, schema.Fixed64:
		if !d.big {
			n &= math.MaxInt64
		}
		d.y3.Uint64(key, n)
	case schema.Float32:
		d.y3.Float32(key, []float32{0, float32(math.Copysign(0, -1)), 0.1, math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.NaN()), float32(math.Inf(-1)), float32(n), math.Float32frombits(uint32(n) &^ (1 << 30))}[n%9])
	case schema.Float64:
		d.y3.Float64(key, []float64{0, math.Copysign(0, -1), 0.1, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Float64frombits(0x7ff8000000000000), math.Inf(1), float64(n), math.Float64frombits(n &^ (1 << 62))}[n%9])
	}
}

func (d *document) as(t *testing.T, m *schema.Message, f format.Format, dialect y3.Format) []byte {
	t.Helper()
	d.y3 = y3.NewBuilder(dialect.Dialect)
	d.fill(m)
	message, err := d.y3.Message()
	if err != nil {
		t.Fatal(err)
	}
	out, notes, err := transcode.MessageAs(nil, message, dialect, f, m)
	if err != nil || notes != nil {
		t.Fatalf("% x as %s: %v, %v", message, f.Name(), notes, err)
	}
	return out
}

// with returns the format f with the schema m.
func with(f format.Format, m *schema.Message) format.Format {
	if f.Name() == "protobuf" {
		return protobuf.Format{Message: m}
	}
	return f
}

// TestRoundTrips translates messages from each format to each other format and back, with a schema. Nothing may be
// lost.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	for _, dialect := range []y3.Format{{Dialect: y3.P}, y3n} {
		formats := []format.Format{dialect, cbor.Format{}, json.Format{}, msgpack.Format{}, bson.Format{}, protobuf.Format{}}
		for _, one := range formats {
			for _, other := range formats {
				t.Run(dialect.Name()+"/"+one.Name()+" and "+other.Name(), func(t *testing.T) {
					t.Parallel()
					r := rand.New(rand.NewPCG(1, 2))
					for range 300 {
						d := &document{Rand: r, lists: dialect.Dialect == y3.P, big: one.Name() != "bson" && other.Name() != "bson"}
						m := d.shape(3)
						one, other := with(one, m), with(other, m)
						message := d.as(t, m, one, dialect)
						there, notes, err := transcode.MessageAs(nil, message, one, other, m)
						if err != nil || notes != nil {
							t.Fatalf("%q: %v, %v", message, notes, err)
						}
						back, notes, err := transcode.MessageAs(nil, there, other, one, m)
						if err != nil || notes != nil || !bytes.Equal(back, message) {
							t.Fatalf("%q became %q and then %q, %v, %v", message, there, back, notes, err)
						}
					}
				})
			}
		}
	}
}

// noise has a field of each type that the formats encode in different ways.
var noise = &schema.Message{Name: "Noise", Fields: []schema.Field{
	{Name: "level", Number: 0x11, Type: schema.Float32},
	{Name: "mean", Number: 0x12, Type: schema.Float64},
	{Name: "count", Number: 0x13, Type: schema.Uint64},
	{Name: "delta", Number: 0x14, Type: schema.Sint32},
	{Name: "raw", Number: 0x15, Type: schema.Bytes},
	{Name: "unit", Number: 0x16, Type: schema.String},
	{Name: "ok", Number: 0x17, Type: schema.Bool},
	{Name: "peaks", Number: 0x18, Type: schema.Uint32, Repeated: true},
	{Name: "next", Number: 0x19, Type: schema.Nested},
	{Name: "far", Number: 100, Type: schema.Bool},
	{Name: "zero", Number: 0, Type: schema.Bool},
}}

func init() { noise.Fields[8].Message = noise }

func TestAs(t *testing.T) {
	t.Parallel()
	typed := protobuf.Format{Message: noise}
	for _, c := range []struct {
		name     string
		from, to format.Format
		data     string
		want     string
		notes    string
	}{
		{"float32 of Y3", y3.Format{}, json.Format{}, "\x11\x04\x3d\xcc\xcc\xcd", `{"level":0.1}`, ""},
		{"float32 of JSON", json.Format{}, cbor.Format{}, `{"level":0.1}`, "\xa1\x65level\xfa\x3d\xcc\xcc\xcd", ""},
		{"float32 of CBOR", cbor.Format{}, json.Format{}, "\xa1\x65level\xfa\x3d\xcc\xcc\xcd", `{"level":0.1}`, ""},
		{"float64 where a float32 should be", cbor.Format{}, y3.Format{}, "\xa1\x65level\xfb\x3f\xb9\x99\x99\x99\x99\x99\x9a", "\x11\x04\x3d\xcc\xcc\xcd", "numbers with more digits than a float32 holds were rounded to it"},
		{"digits where a float32 should be", json.Format{}, y3.Format{}, `{"level":0.100000001}`, "\x11\x04\x3d\xcc\xcc\xcd", "numbers with more digits than a float32 holds were rounded to it"},
		{"integer where a float should be", json.Format{}, y3.Format{}, `{"level":2,"mean":-0}`, "\x11\x01\x40\x12\x01\x80", ""},
		{"float where an integer should be", cbor.Format{}, y3.Format{}, "\xa1\x65delta\xf9\xc4\x00", "\x14\x01\x7c", ""},
		{"exponent where an integer should be", json.Format{}, y3.Format{}, `{"delta":-4e0}`, "\x14\x01\x7c", ""},
		{"NaN to JSON", y3.Format{}, json.Format{}, "\x11\x02\x7f\xc0\x12\x02\xff\xf0", `{"level":"NaN","mean":"-Infinity"}`, ""},
		{"NaN from JSON", json.Format{}, y3.Format{}, `{"level":"NaN","mean":"Infinity"}`, "\x11\x02\x7f\xc0\x12\x02\x7f\xf0", ""},
		{"largest uint64", y3.Format{}, json.Format{}, "\x13\x01\x7f", `{"count":18446744073709551615}`, ""},
		{"bytes to JSON", y3.Format{}, json.Format{}, "\x15\x02\xff\x00", `{"raw":"/wA="}`, ""},
		{"bytes from JSON", json.Format{}, msgpack.Format{}, `{"raw":"/wA="}`, "\x81\xa3raw\xc4\x02\xff\x00", ""},
		{"list and nested", json.Format{}, y3.Format{}, `{"next":{"peaks":[1,2]}}`, "\x99\x08\xd8\x06\x00\x01\x01\x00\x01\x02", ""},
		{"null stays", json.Format{}, cbor.Format{}, `{"level":null,"peaks":null}`, "\xa2\x65level\xf6\x65peaks\xf6", ""},
		{"unknown to the schema", json.Format{}, cbor.Format{}, `{"new":1}`, "\xa1\x63new\x01", ""},
		{"unknown key of Y3", y3.Format{}, json.Format{}, "\x2a\x01\x05\x17\x01\x01", `{"0x2a":"05","ok":true}`, ""},
		{"unknown key to Y3", json.Format{}, y3.Format{}, `{"0x2a":"05","ok":true}`, "\x2a\x01\x05\x17\x01\x01", ""},
		{"a key that is a number is no field number", msgpack.Format{}, json.Format{}, "\x81\x17\xc3", `{"23":true}`, "integer keys became text"},
		{"the other dialect", y3.Format{}, y3n, "\x13\x02\x81\x00", "\x13\x02\x00\x80", ""},
		{"width of an integer of BSON", json.Format{}, bson.Format{}, `{"count":1,"delta":1}`, "\x1f\x00\x00\x00\x12count\x00\x01\x00\x00\x00\x00\x00\x00\x00\x10delta\x00\x01\x00\x00\x00\x00", ""},
		{"int64 of BSON that an int32 holds", bson.Format{}, json.Format{}, "\x14\x00\x00\x00\x12count\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00", `{"count":1}`, ""},
		{"to protobuf", json.Format{}, typed, `{"level":1.5,"delta":-2,"unit":"dB","peaks":[3,150],"next":{"ok":true}}`, "\x8d\x01\x00\x00\xc0\x3f\xa0\x01\x03\xb2\x01\x02dB\xc2\x01\x03\x03\x96\x01\xca\x01\x03\xb8\x01\x01", ""},
		{"from protobuf", typed, json.Format{}, "\x8d\x01\x00\x00\xc0\x3f\xa0\x01\x03\xb2\x01\x02dB\xc2\x01\x03\x03\x96\x01\xca\x01\x03\xb8\x01\x01", `{"level":1.5,"delta":-2,"unit":"dB","peaks":[3,150],"next":{"ok":true}}`, ""},
		{"empty lists to protobuf", json.Format{}, typed, `{"peaks":[],"ok":false}`, "\xb8\x01\x00", "empty lists were left out, as protobuf has no bytes for one"},
		{"unknown field of protobuf", typed, json.Format{}, "\x08\x05\xb8\x01\x01", `{"1":"05","ok":true}`, "fields that the schema does not know became their bytes; integer keys became text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, notes, err := transcode.MessageAs(nil, []byte(c.data), c.from, c.to, noise)
			if err != nil || string(got) != c.want || strings.Join(notes, "; ") != c.notes {
				t.Errorf("got %q, %q, %v, want %q, %q", got, notes, err, c.want, c.notes)
			}
		})
	}
}

func TestAsRefused(t *testing.T) {
	t.Parallel()
	typed := protobuf.Format{Message: noise}
	for _, c := range []struct {
		name     string
		from, to format.Format
		data     string
		want     string
	}{
		{"text for a number", json.Format{}, cbor.Format{}, `{"next":{"level":"1.5"}}`, `next.level: transcode: "1.5" where the schema has float32`},
		{"text for a number of CBOR", cbor.Format{}, json.Format{}, "\xa1\x65level\x63NaN", `level: transcode: text where the schema has float32`},
		{"number for a text", json.Format{}, cbor.Format{}, `{"unit":5}`, `unit: transcode: integer where the schema has string`},
		{"no base64", json.Format{}, y3.Format{}, `{"raw":"/wA"}`, `raw: transcode: "/wA" is not base64`},
		{"text for bytes of CBOR", cbor.Format{}, json.Format{}, "\xa1\x63raw\x61a", "raw: transcode: text where the schema has bytes"},
		{"list for a scalar", json.Format{}, cbor.Format{}, `{"unit":["a"]}`, "unit: transcode: a list where the schema has string"},
		{"map for a scalar", json.Format{}, cbor.Format{}, `{"unit":{}}`, "unit: transcode: a map where the schema has string"},
		{"scalar for a list", json.Format{}, cbor.Format{}, `{"peaks":5}`, "peaks: transcode: integer where the schema has list of uint32"},
		{"map for a list", json.Format{}, cbor.Format{}, `{"peaks":{}}`, "peaks: transcode: a map where the schema has list of uint32"},
		{"scalar for a message", json.Format{}, cbor.Format{}, `{"next":5}`, "next: transcode: integer where the schema has Noise"},
		{"beyond uint32", json.Format{}, cbor.Format{}, `{"peaks":[4294967296]}`, "peaks.0: transcode: 4294967296 exceeds the range of uint32"},
		{"below 0", json.Format{}, cbor.Format{}, `{"count":-1}`, "count: transcode: -1 exceeds the range of uint64"},
		{"beyond int32", cbor.Format{}, y3.Format{}, "\xa1\x65delta\x1a\x80\x00\x00\x00", "delta: transcode: 2147483648 exceeds the range of int32"},
		{"fraction", json.Format{}, cbor.Format{}, `{"delta":1.5}`, "delta: transcode: 1.5 where the schema has int32"},
		{"fraction that a float64 does not see", json.Format{}, cbor.Format{}, `{"delta":5.00000000000000000001}`, "delta: transcode: 5.00000000000000000001 where"},
		{"NaN for an integer", cbor.Format{}, json.Format{}, "\xa1\x65delta\xf9\x7e\x00", "delta: transcode: NaN where the schema has int32"},
		{"beyond float32", json.Format{}, cbor.Format{}, `{"level":1e39}`, "level: transcode: 1e39 exceeds the range of a float32"},
		{"beyond float32 in CBOR", cbor.Format{}, json.Format{}, "\xa1\x65level\xfb\x7f\xef\xff\xff\xff\xff\xff\xff", "level: transcode: 1.7976931348623157e+308 exceeds the range of a float32"},
		{"a value of Y3 that is not of its type", y3.Format{}, json.Format{}, "\x17\x01\x02", "0x17: y3: cannot use"},
		{"null to Y3", json.Format{}, y3.Format{}, `{"ok":null}`, "ok: transcode: y3 has no null: leave the field out"},
		{"number that is no key", json.Format{}, y3.Format{}, `{"far":true}`, "far: transcode: the schema's number 100 is no y3 key"},
		{"unknown name to Y3", json.Format{}, y3.Format{}, `{"new":true}`, `new: transcode: "new" is no y3 key`},
		{"unknown key to the other dialect", y3.Format{}, y3n, "\x2a\x01\x7f", "0x2a: transcode: if this value is an integer, y3n writes it differently: give it a type in a schema"},
		{"key that has a name", cbor.Format{}, y3.Format{}, "\xa1\x640x17\x41\x02", `0x17: transcode: the schema's name for "0x17" is "ok": use that`},
		{"uint64 to BSON", json.Format{}, bson.Format{}, `{"count":9223372036854775808}`, "count: transcode: 9223372036854775808 has no form in bson"},
		{"null to protobuf", json.Format{}, typed, `{"ok":null}`, "ok: transcode: protobuf has no null"},
		{"unknown name to protobuf", json.Format{}, typed, `{"new":true}`, `new: transcode: the schema has no field "new"`},
		{"unknown message to protobuf", json.Format{}, typed, `{"new":{}}`, `new: transcode: the schema has no field "new"`},
		{"number 0 to protobuf", json.Format{}, typed, `{"zero":true}`, "zero: transcode: the schema's number 0 is none of protobuf"},
		{"list to protobuf", json.Format{}, typed, `[]`, "transcode: a list where the schema has Noise"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := transcode.MessageAs([]byte("before"), []byte(c.data), c.from, c.to, noise)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || string(got) != "before" {
				t.Errorf("got %q, %v, want an error with %q", got, err, c.want)
			}
		})
	}
}

// TestJSONAs prints one value of a message, with the names and types of the schema.
func TestJSONAs(t *testing.T) {
	t.Parallel()
	message := []byte("\x99\x0b\x11\x02\x3f\xc0\x15\x01\xff\x12\x02\x7f\xf8")
	for _, c := range []struct{ path, named, want string }{
		{"", "", `{"next":{"level":1.5,"raw":"ff","mean":"NaN"}}`},
		{"0x19", "next", `{"level":1.5,"raw":"ff","mean":"NaN"}`},
		{"0x19.0x11", "next.level", "1.5"},
	} {
		span, err := y3.Format{}.Lookup(message, field.MustParse(c.path))
		if err != nil {
			t.Fatal(err)
		}
		is, ok := noise.At(field.MustParse(c.named))
		if !ok {
			t.Fatalf("the schema has no %s", c.named)
		}
		if got, err := transcode.JSONAs(nil, message, y3.Format{}, span, &is); err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.path, got, err, c.want)
		}
	}
}
