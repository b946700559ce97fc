package pipeline

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/format"
	"example.com/ferry/format/bson"
	"example.com/ferry/format/cbor"
	formatjson "example.com/ferry/format/json"
	"example.com/ferry/format/msgpack"
	"example.com/ferry/format/y3"
	"example.com/ferry/internal/transcode"
)

// sample is a message of the differential test.
type sample struct {
	id    int64
	v     float64
	ns    int64 // event time
	valid bool  // it has v
}

// wire is how samples are written in one format, and their paths in it.
type wire struct {
	typ       ferry.Type
	id, v, ns string
	append    func(t *testing.T, s sample) []byte
}

// named returns a wire of a format with names. asText writes the value as text.
func named(typ ferry.Type, to format.Format, asText bool) wire {
	return wire{typ, "d.id", "r.1.v", "at", func(t *testing.T, s sample) []byte {
		t.Helper()
		r := map[string]any{"x": "y"}
		if s.valid && asText {
			r["v"] = fmt.Sprint(s.v)
		} else if s.valid {
			r["v"] = s.v
		}
		text, err := json.Marshal(map[string]any{"d": map[string]any{"id": s.id}, "r": []any{map[string]any{"v": -1}, r}, "at": s.ns})
		if err != nil {
			t.Fatal(err)
		}
		if to == nil {
			return text
		}
		out, _, err := transcode.Message(nil, text, formatjson.Format{}, to)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}}
}

func y3Wire(typ ferry.Type, d y3.Dialect) wire {
	return wire{typ, "int64(0x01.0x10)", "float64(0x01.0x11)", "int64(0x01.0x12)", func(t *testing.T, s sample) []byte {
		t.Helper()
		b := y3.NewBuilder(d)
		b.Node(0x01)
		b.Int64(0x10, s.id)
		if s.valid {
			b.Float64(0x11, s.v)
		}
		b.Int64(0x12, s.ns)
		b.End()
		m, err := b.Message()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}}
}

var protobufWire = wire{ferry.Protobuf, "int64(1)", "float64(2.3)", "int64(4)", func(_ *testing.T, s sample) []byte {
	b := binary.AppendUvarint([]byte{1 << 3}, uint64(s.id)) // protobuf.dev/programming-guides/encoding
	var inner []byte
	if s.valid {
		inner = binary.LittleEndian.AppendUint64([]byte{3<<3 | 1}, math.Float64bits(s.v))
	}
	b = append(append(b, 2<<3|2, byte(len(inner))), inner...)
	return binary.AppendUvarint(append(b, 4<<3), uint64(s.ns))
}}

// TestAgainstPlainLoop compares pipelines on messages in each format with a loop over the values that the messages were made of.
func TestAgainstPlainLoop(t *testing.T) {
	t.Parallel()
	for _, w := range []wire{
		named(ferry.JSON, nil, false), named(ferry.JSON, nil, true), named(ferry.CBOR, cbor.Format{}, false), named(ferry.CBOR, cbor.Format{}, true),
		named(ferry.MsgPack, msgpack.Format{}, false), named(ferry.BSON, bson.Format{}, true), named(ferry.BSON, bson.Format{}, false),
		y3Wire(ferry.Y3, y3.P), y3Wire(ferry.Y3N, y3.N), protobufWire,
	} {
		for seed := range uint64(8) {
			random := rand.New(rand.NewPCG(seed, 3))
			const length = int64(100 * time.Millisecond)
			r := newRig(t, Config{Steps: steps(
				Step{Where: w.where(">", 10)},
				Step{GroupBy: &Paths{w.id}},
				Step{Window: &Window{Time: time.Duration(length), EventTime: w.ns, Idle: time.Hour}}, // a length in nanoseconds, so that a test needs no clock
				Step{Aggregates: []Aggregation{{Count: true}, {Sum: w.v}, {Mean: w.v, As: "avg"}, {Min: w.v}, {Max: w.v}}},
				Step{Publish: "out"},
			)})
			type state struct {
				start         int64
				n             int
				sum, min, max float64
			}
			open := map[int64]*state{}
			var want []string
			end := func(id int64, s *state) {
				want = append(want, fmt.Sprintf("%d %d %d %v %v %v %v", id, s.start, s.n, s.sum, s.sum/float64(s.n), s.min, s.max))
			}
			at, mismatched := int64(1e15), uint64(0)
			for range 400 {
				at += random.Int64N(20e6)
				s := sample{id: random.Int64N(5), v: math.Round(random.NormFloat64()*2e3) / 64, ns: at, valid: random.IntN(10) > 0}
				if err := r.Handle(t.Context(), &ferry.Message{Tag: "in/x", Type: w.typ, Payload: w.append(t, s)}, r); err != nil {
					t.Fatal(err)
				}
				if !s.valid {
					mismatched++
				}
				if !s.valid || s.v <= 10 {
					continue
				}
				start := at - at%length
				now := open[s.id]
				if now != nil && now.start != start {
					end(s.id, now)
					now = nil
				}
				if now == nil {
					now = &state{start: start, min: s.v, max: s.v}
					open[s.id] = now
				}
				now.n++
				now.sum, now.min, now.max = now.sum+s.v, min(now.min, s.v), max(now.max, s.v)
			}
			if len(r.sent) != len(want) || len(want) == 0 {
				t.Fatalf("%v, seed %d: %d results, want %d", w.typ, seed, len(r.sent), len(want))
			}
			for i, m := range r.sent {
				var got map[string]float64
				if err := json.Unmarshal(m.Payload, &got); err != nil {
					t.Fatalf("%s: %v", m.Payload, err)
				}
				name := "id"
				switch w.typ {
				case ferry.Y3, ferry.Y3N:
					name = "0x10"
				case ferry.Protobuf:
					name = "1"
				}
				if line := fmt.Sprintf("%d %d %d %v %v %v %v", int64(got[name]), int64(got["start"]), int(got["count"]), got["sum"], got["avg"], got["min"], got["max"]); line != want[i] {
					t.Fatalf("%v, seed %d, result %d: got %s, want %s\n%s", w.typ, seed, i, line, want[i], m.Payload)
				}
			}
			if s := r.Stats().Steps[0]; s.In != 400 || s.Skipped != mismatched {
				t.Errorf("%v, seed %d: %d of %d messages were skipped, want %d", w.typ, seed, s.Skipped, s.In, mismatched)
			}
		}
	}
}

func (w *wire) where(operator string, literal float64) string {
	return fmt.Sprintf("%s %s %v", w.v, operator, literal)
}
