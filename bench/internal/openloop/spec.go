package openloop

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Spec is the load to generate.
type Spec struct {
	Addr   string // host:port of the server
	Open   []Open
	Closed []Closed

	Warm   time.Duration // time between the first request and the window
	Window time.Duration // length of the window; requests that are due in the window are measured

	Count string // the path of a counter, read when the window begins and when it ends; empty: none
	PIDs  []int  // processes of the experiment besides the generator; their CPU time does not count as foreign
}

// Open is a stream of requests with exponentially distributed gaps (Poisson).
type Open struct {
	Path string
	Rate float64 // requests a second
}

// Closed is a number of requests in flight: each response is followed by the next request.
type Closed struct {
	Path     string
	InFlight int
}

func (s *Spec) check() error {
	if s.Addr == "" || len(s.Open)+len(s.Closed) == 0 || s.Window <= 0 || s.Warm < 0 {
		return errors.New("openloop: a Spec needs an address, something to send, and a window")
	}
	for _, o := range s.Open {
		if o.Rate <= 0 {
			return fmt.Errorf("openloop: %s at %v a second: want more than 0", o.Path, o.Rate)
		}
	}
	for _, c := range s.Closed {
		if c.InFlight <= 0 {
			return fmt.Errorf("openloop: %s with %d requests in flight: want 1 or more", c.Path, c.InFlight)
		}
	}
	return nil
}

// Report is the result of a generator.
type Report struct {
	Open   []Times // latencies, from due to response, in the order of Spec.Open
	Late   Times   // delays between due and sent, of all open streams
	Closed []int   // responses in the window, in the order of Spec.Closed

	Unanswered int        // open requests without a response; they count with their age
	Counts     []Response // responses of Spec.Count at the start and at the end of the window

	FIFO    bool          // whether the generator had SCHED_FIFO
	Own     time.Duration // CPU time in the window of Spec.PIDs and the generator
	Foreign float64       // cores used by other programs in the window, on average
}

// Response is the body of a response.
type Response struct {
	At   time.Duration // when the response arrived, since the start of the generator
	Body string
}

// Times are durations in ascending order.
type Times []time.Duration

// Quantile returns the q-quantile, with q between 0 and 1: 0.99 is the 99th percentile. It returns 0 if t is empty.
func (t Times) Quantile(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[min(len(t)-1, int(q*float64(len(t))))]
}

// Sorted sorts t.
func Sorted(t []time.Duration) Times {
	slices.Sort(t)
	return t
}
