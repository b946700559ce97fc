package admin

import "github.com/prometheus/client_golang/prometheus"

// DrainPhase is how far a node that ends is.
type DrainPhase int

// The values of DrainPhase, in their order.
const (
	NotDraining    DrainPhase = iota // the node serves
	DrainUnready                     // /ready has failed, and the node serves
	DrainRequests                    // listeners are closed; requests, calls and messages end
	DrainFunctions                   // functions stop, and links store what they have
	DrainStoring                     // the engine stores what was published
)

var drainPhases = [...]string{"serving", "unready", "requests", "functions", "storing"}

// String returns the name of the phase in logs and metrics.
func (p DrainPhase) String() string { return drainPhases[p] }

var drainDesc = desc("ferry_drain_phase", "1 for the phase that the node is in: serving, and of a node that ends unready, requests, functions, storing.", "phase")

// drainCollector collects the phase of the node.
type drainCollector struct{ phase func() DrainPhase }

// Describe sends the description.
func (c drainCollector) Describe(ch chan<- *prometheus.Desc) { ch <- drainDesc }

// Collect sends the phase of the moment.
func (c drainCollector) Collect(ch chan<- prometheus.Metric) {
	now := c.phase()
	for p, name := range drainPhases {
		value := 0
		if DrainPhase(p) == now {
			value = 1
		}
		ch <- gauge(drainDesc, value, name)
	}
}
