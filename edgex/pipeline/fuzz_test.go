package pipeline_test

import (
	"bytes"
	stdjson "encoding/json"
	"testing"

	fxcbor "github.com/fxamacker/cbor/v2"

	"example.com/ferry/edgex"
	"example.com/ferry/edgex/pipeline"
)

// FuzzPipeline runs any bytes through a filter, a step that sets the ID and a conversion. Nothing may panic. If the pipeline
// validates, its output must be valid and have the requested form and ID. A second pass must not change the output.
func FuzzPipeline(f *testing.F) {
	e := event(f, "pump-1", "pressure", "flow")
	e.AddBinary("image", []byte{0xca, 0xfe, 0, 1}, "image/png")
	for _, data := range [][]byte{
		marshal(f, fxcbor.Marshal, e), marshal(f, stdjson.Marshal, e), inEnvelope(f, e),
		marshal(f, fxcbor.Marshal, edgex.NewAddEventRequest(e.Optimized())),
	} {
		for form := range uint8(edgex.CBORBytes) {
			f.Add(data, form)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, form uint8) {
		to := edgex.CBOR + edgex.Form(form)%edgex.CBORBytes
		steps := []pipeline.Step{
			must(pipeline.FilterByResourceName(pipeline.Filter{Values: []string{"flow"}, Out: true})),
			pipeline.SetID(func() string { return "short" }),
			pipeline.Transform(to),
			pipeline.SetID(func() string { return newID }),
		}
		_, _, _ = pipeline.New(&pipeline.Config{Trusted: true}, steps...).Run(bytes.Clone(data))

		p := pipeline.New(nil, steps...)
		out, ok, err := p.Run(bytes.Clone(data))
		if err != nil || !ok {
			return
		}
		var v edgex.View
		check(t, v.Open(out, 0))
		if err := v.Validate(); err != nil {
			t.Fatalf("what came out is not valid: %v\n%q", err, out)
		}
		if id, err := v.ID(); err != nil || string(id) != newID || v.Form() != to {
			t.Fatalf("%v with ID %q, %v, want %v with %q", v.Form(), id, err, to, newID)
		}
		again, ok, err := p.Run(bytes.Clone(out))
		if err != nil || !ok || !bytes.Equal(again, out) {
			t.Fatalf("the second time: %q, %v, %v, want %q", again, ok, err, out)
		}
	})
}
