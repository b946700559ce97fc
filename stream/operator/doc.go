// Package operator has operators on streams of Go values: filters, windows, groups, joins and more.
//
// A Stream describes values that arrive over time, and an operator makes a Stream of another one. Start builds the operators and runs
// them as one chain of function calls, without channels and goroutines between them. A value that a source has alone passes all operators
// before the next one begins. Values that a source has together pass filters, maps, groups and windows in batches, as far as no
// result depends on it. Every operator measures time on the clock of its stream: the wall clock, or the times that EventTime gives to the
// values. Windows emit when the watermark, the earliest time that is still expected, has passed their ends. What operators keep is
// bounded: what exceeds a limit is dropped and counted (Stats). With a Config.Store it survives the process.
//
//	timed := operator.EventTime(readings, at, operator.Disorder{Bound: time.Second})
//	hot := operator.Filter(timed, func(r Reading) bool { return r.Value > 30 })
//	means := operator.Window(hot, operator.Tumbling(10*time.Second), operator.Mean(Reading.value))
//	err := operator.Run(ctx, nil, operator.Publish(means, client, message))
package operator

// Files: operators on Go values. stream.go is a Stream, run.go runs chains, clock.go is time and its timers, state.go stores
// what changed, source.go is where values enter. Windows by time are in window.go, by count in counted.go. gate.go has operators that
// end early, ending.go and tail.go those that pass on values at the end, follow.go and again.go what starts sources late or again,
// hooks.go and errors.go what handles errors. batch.go is what a source passes on together, which eventtime.go divides where a timer
// is due. fromtag.go and sink.go are the ends, tagstore.go keeps state on stored tags.
