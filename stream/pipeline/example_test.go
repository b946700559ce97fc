package pipeline_test

import (
	"context"
	"fmt"

	"example.com/ferry"
	"example.com/ferry/format/all"
	"example.com/ferry/stream/pipeline"
)

// printer prints what a pipeline publishes. In a program it is a stream.Client.
type printer struct{}

func (printer) Send(_ context.Context, m ferry.Message) error {
	fmt.Printf("%s %s\n", m.Tag, m.Payload)
	return nil
}

func (printer) Flush(context.Context) error { return nil }

// The mean of each three temperatures of a device. In a configuration this is
//
//	pipeline:
//	  - group_by: device
//	  - window: {count: 3}
//	  - aggregate: [{mean: temperature}, {max: temperature}]
//	  - select: {device: device, mean: mean, max: max}
//	  - publish: temperatures/{device}
func Example() {
	p, err := pipeline.New(pipeline.Config{
		Observe: []string{"sensors/#"},
		Steps: []pipeline.Step{
			{GroupBy: &pipeline.Paths{"device"}},
			{Window: &pipeline.Window{Count: 3}},
			{Aggregates: []pipeline.Aggregation{{Mean: "temperature"}, {Max: "temperature"}}},
			{Select: map[string]string{"device": "device", "mean": "mean", "max": "max"}},
			{Publish: "temperatures/{device}"},
		},
		Formats: all.Formats(), Output: printer{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	for _, payload := range []string{
		`{"device":"a","temperature":20}`, `{"device":"b","temperature":5}`, `{"device":"a","temperature":"21.5"}`, `{"device":"a","temperature":23}`,
	} {
		m := ferry.Message{Tag: "sensors/hall", Type: ferry.JSON, Payload: []byte(payload)}
		if err := p.Handle(context.Background(), &m, printer{}); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("groups:", p.Stats().Groups, "open windows:", p.Stats().Open)
	// Output:
	// temperatures/a {"device":"a","max":23,"mean":21.5}
	// groups: 2 open windows: 1
}
