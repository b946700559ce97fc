// Package pipeline runs the steps that a node's configuration gives a function: where, select, group_by, windows with aggregates, scan,
// distinct, changed, debounce, throttle, sample and publish. Steps read fields of encoded messages in all formats, without decoding
// them. A step that makes something new of messages makes a record, which is one object of JSON.
//
//	p, err := pipeline.New(pipeline.Config{
//		Observe: []string{"sensors/+"},
//		Steps: []pipeline.Step{
//			{Window: &pipeline.Window{Time: 10 * time.Second}},
//			{Aggregation: pipeline.Aggregation{Mean: "readings.0.value"}},
//			{Publish: "averages/+"},
//		},
//		Formats: all.Formats(),
//		Output:  client,
//	})
package pipeline
