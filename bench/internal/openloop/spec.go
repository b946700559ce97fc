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

	Warm   time.Duration // from the first request to the window
	Window time.Duration // what is due in it is measured

	Count string // the path of a counter, read when the window begins and when it ends; empty: none
	PIDs  []int  // processes that belong to the experiment, beside the generator: their use of the CPU is not foreign
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
	Open   []Times // in the order of Spec.Open: from when a request was due until its response was read
	Late   Times   // from when a request was due until it was sent, of all open streams
	Closed []int   // responses in the window, in the order of Spec.Closed

	Unanswered int        // open requests that counted with their age
	Counts     []Response // of Spec.Count: when the window began, and when it ended

	FIFO    bool          // whether the generator had SCHED_FIFO
	Own     time.Duration // CPU time in the window of Spec.PIDs and the generator
	Foreign float64       // cores that others used in the window
}

// Response is the body of a response.
type Response struct {
	At   time.Duration // when it came, since the generator began
	Body string
}

// Times are durations in ascending order.
type Times []time.Duration

// Quantile is the time that a share q of all did not exceed; 0 if there are none.
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
