package live

import "example.com/ferry/stream"

// Function is a stream.Function with a name.
type Function struct {
	Name string // shown in metrics, and what it is started and stopped by
	stream.Function
}

// Functions returns the functions averages and alerts, each with a memory of its own. A function that falls behind loses
// the oldest readings instead of holding up the sensors.
func Functions() []Function {
	return []Function{
		{"averages", stream.Function{Observe: []string{"sensors/#"}, Policy: stream.DropOldest, Handler: new(Averages)}},
		{"alerts", stream.Function{Observe: []string{"averages/#"}, Where: AlertsWhere, Policy: stream.DropOldest, Handler: new(Alerts)}},
	}
}
