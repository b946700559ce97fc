package pipeline

import (
	"fmt"
	"testing"
	"testing/synctest"

	"example.com/ferry"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	formatjson "example.com/ferry/format/json"
	"example.com/ferry/format/msgpack"
	"example.com/ferry/internal/transcode"
)

const readings = `{"device":"pump","r":[{"n":"a","v":1},{"n":"b","v":2},{"n":"a","v":[4]},{"n":"a","v":8}],"text":"x"}`

// An element of a list is a message in each format whose values can stand alone.
func TestFlatMap(t *testing.T) {
	t.Parallel()
	for typ, to := range map[ferry.Type]format.Format{ferry.JSON: formatjson.Format{}, ferry.CBOR: cbor.Format{}, ferry.MsgPack: msgpack.Format{}} {
		message, _, err := transcode.Message(nil, []byte(readings), formatjson.Format{}, to)
		if err != nil {
			t.Fatal(err)
		}
		for list, want := range map[string][]string{
			"r":    {`{"n":"a","v":1}`, `{"n":"b","v":2}`, `{"n":"a","v":8}`},
			"text": nil,
			"none": nil,
		} {
			r := newRig(t, Config{Steps: steps(Step{FlatMap: list}, Step{Select: map[string]string{"n": "n", "v": "v"}}, Step{Publish: "out"})})
			if err := r.Handle(t.Context(), &ferry.Message{Tag: "in/a", Type: typ, Payload: message, Sequence: 7}, r); err != nil {
				t.Fatal(err)
			}
			ids := map[string]bool{}
			var got []string
			for _, m := range r.sent {
				got, ids[m.ID] = append(got, string(m.Payload)), true
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || len(ids) != len(want) {
				t.Errorf("%v, %s: got %s with %d IDs, want %s", typ, list, got, len(ids), want)
			}
			if s := r.Stats(); s.Steps[0].Skipped+s.Steps[1].Skipped != 1 {
				t.Errorf("%v, %s: got %+v, want one skipped", typ, list, s.Steps)
			}
		}
	}
}

// All elements of a message count in their groups once, also when the message comes again.
func TestFlatMapState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{State: "state/f", Steps: steps(Step{FlatMap: "r"}, Step{GroupBy: &Paths{"n"}}, Step{Scan: []Aggregation{{Sum: "v"}}}, Step{Publish: "out"})})
		for _, want := range []string{"out {\"n\":\"a\",\"sum\":1}\nout {\"n\":\"a\",\"sum\":9}\nout {\"n\":\"b\",\"sum\":2}", ""} {
			if err := r.Handle(t.Context(), &ferry.Message{Tag: "in/a", Type: ferry.JSON, Payload: []byte(readings), Sequence: 7}, r); err != nil {
				t.Fatal(err)
			}
			if got := r.results(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

// The IDs of the results of two functions are different, also if the name of one is that of the other with a number.
func TestFlatMapIDs(t *testing.T) {
	t.Parallel()
	ids := map[string]int{}
	for name, sequence := range map[string]uint64{"f": 12, "f-12": 2} {
		r := newRig(t, Config{Name: name, Steps: steps(Step{FlatMap: "r"}, Step{Publish: "out"})})
		if err := r.Handle(t.Context(), &ferry.Message{Tag: "in/a", Type: ferry.JSON, Payload: []byte(readings), Sequence: sequence}, r); err != nil {
			t.Fatal(err)
		}
		for _, m := range r.sent {
			ids[m.ID]++
		}
	}
	if len(ids) != 8 {
		t.Errorf("got %d IDs of 8 results: %v", len(ids), ids)
	}
}
