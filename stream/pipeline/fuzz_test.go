package pipeline

import (
	"encoding/json"
	"testing"

	"example.com/ferry"
	"example.com/ferry/format/all"
)

// FuzzSteps: steps of any kind are refused, or handle any message without a panic, and their state can be saved and restored.
func FuzzSteps(f *testing.F) {
	for _, text := range []string{ // JSON, so that the input finds its way past the parser
		`[{"Where":"v > 1"},{"Publish":"out/+"}]`,
		`[{"Select":{"a":"v","t":"@tag"}},{"GroupBy":["a"]},{"Window":{"Count":2,"Time":1000000000}},{"Mean":"a"},{"Publish":"out/{a}"}]`,
		`[{"Window":{"Time":10000000000,"Every":1000000000,"EventTime":"v","Unit":"s","Lateness":2000000000}},{"Aggregates":[{"Count":true},{"Last":"v"}]},{"Publish":"out/+","Type":"cbor"}]`,
		`[{"Window":{"Session":1000000000,"EventTime":"v"}},{"DistinctCount":"v"},{"Changed":["distinct_count"]},{"Publish":"out"}]`,
		`[{"Scan":[{"Max":"v"},{"First":"@tag"}]},{"Distinct":["max","first"]},{"Debounce":1000000000},{"Throttle":1000000},{"Sample":5000000},{"Publish":"out"}]`,
		`[{"GroupBy":[]},{"Window":{"Session":1000000}},{"Min":"float64(0x10.0x11)"},{"Publish":"out","Type":"bson"}]`,
	} {
		f.Add([]byte(text), []byte(`{"v":12,"w":[1]}`), byte(ferry.JSON))
	}
	f.Fuzz(func(t *testing.T, text, payload []byte, typ byte) {
		var list []Step
		if json.Unmarshal(text, &list) != nil {
			return
		}
		_, err := Check(list, []string{"in/+"})
		p, newErr := New(Config{Name: "f", Steps: list, Observe: []string{"in/+"}, State: "state", Formats: all.Formats(), Output: &rig{}})
		if (err == nil) != (newErr == nil) {
			t.Fatalf("Check: %v, New: %v", err, newErr)
		}
		if err != nil {
			return
		}
		defer p.Close()
		s := &rig{}
		for sequence := range uint64(4) {
			if err := p.Handle(t.Context(), &ferry.Message{Tag: "in/a", Type: ferry.Type(typ), Payload: payload, Sequence: sequence + 1}, s); err != nil {
				t.Fatal(err)
			}
		}
		again, err := New(p.cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if _, emptied, err := again.Restore(func(yield func([]byte, error) bool) {
			for _, m := range s.sent {
				if m.Type == ferry.Raw && !yield(m.Payload, nil) {
					return
				}
			}
		}); emptied > 0 || err != nil {
			t.Errorf("restored with %d empty groups, %v", emptied, err)
		}
	})
}
