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

// Files: the steps that a configuration gives a function, on fields of encoded messages: step.go declares them, compile.go
// checks them and makes stages, groupby.go finds the group of a message (group.go), and each kind of step has a file;
// window.go and aggregate.go make records (record.go). pipeline.go handles messages and the timer, state.go saves and
// restores.
