package load

import (
	"fmt"
	"time"
)

// Config is the load to generate.
type Config struct {
	// Rate is the number of requests a second of an open loop. Zero means a closed loop.
	Rate float64

	// Constant makes the gaps between the requests of an open loop equal. Otherwise they are exponentially distributed (Poisson).
	Constant bool

	// Workers is the largest number of requests in progress. Zero means 100. A request of an open loop that is due while all workers
	// are busy waits for one, and that wait is part of its latency.
	Workers int

	// Requests is the number of requests to measure. Zero means no bound.
	Requests int

	// Duration is how long requests are measured. Zero means no bound. If Requests is zero too, Duration is 10 s.
	Duration time.Duration

	// WarmUp is how long requests are sent before they are measured. Zero means none.
	WarmUp time.Duration

	// Drain bounds the wait for requests that were due when the measurement ended. Zero means 10 s.
	Drain time.Duration

	// MaxLate is the largest 99th percentile of the generator's own lateness in an open loop. Above it, the result is void. Zero
	// means 1 ms.
	MaxLate time.Duration
}

// check returns a copy of c with the defaults filled in.
func (c *Config) check() (*Config, error) {
	var d Config
	if c != nil {
		d = *c
	}
	for _, v := range []struct {
		name  string
		value float64
	}{
		{"Rate", d.Rate},
		{"Workers", float64(d.Workers)},
		{"Requests", float64(d.Requests)},
		{"Duration", float64(d.Duration)},
		{"WarmUp", float64(d.WarmUp)},
		{"Drain", float64(d.Drain)},
		{"MaxLate", float64(d.MaxLate)},
	} {
		if !(v.value >= 0) { // NaN, too
			return nil, fmt.Errorf("load: Config.%s %v: want 0 or more", v.name, v.value)
		}
	}
	if d.Rate > maxRate {
		return nil, fmt.Errorf("load: Config.Rate %v: want at most %v requests a second", d.Rate, float64(maxRate))
	}
	if d.Requests == 0 {
		setDefault(&d.Duration, 10*time.Second)
	}
	setDefault(&d.Workers, 100)
	setDefault(&d.Drain, 10*time.Second)
	setDefault(&d.MaxLate, time.Millisecond)
	return &d, nil
}

// maxRate keeps gaps above the resolution of the clock.
const maxRate = 10_000_000

func setDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}
