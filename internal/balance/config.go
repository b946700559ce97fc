package balance

import (
	"fmt"
	"time"

	"example.com/ferry/internal/invalid"
)

// Config configures a Set. The zero value works.
type Config struct {
	// Policy is the load-balancing policy. Empty means LeastRequest.
	Policy Policy

	// Limits bound the connections and requests of the set.
	Limits Limits

	// Outlier configures ejection. Nil means no ejection.
	Outlier *Outlier
}

// Policy is a load-balancing policy.
type Policy string

// The values of Policy.
const (
	LeastRequest Policy = "least-request" // the one of two random endpoints that has fewer active requests
	RoundRobin   Policy = "round-robin"   // each endpoint in turn
	EWMA         Policy = "ewma"          // the one of two random endpoints with the smaller product of latency and active requests
)

// Valid reports whether p is one of the values of Policy, or empty.
func (p Policy) Valid() bool {
	return p == "" || choosers[p] != nil
}

// Limits are a circuit breaker. All loops and goroutines are counted together.
type Limits struct {
	// Connections is the largest number of connections to each endpoint. Zero means 10000.
	Connections int `yaml:"connections,omitempty" schema:"min=0"`

	// Requests is the largest number of active requests. Zero means 100000.
	Requests int `yaml:"requests,omitempty" schema:"min=0"`

	// Waiting is the largest number of requests that wait for a connection. Zero means 10000.
	Waiting int `yaml:"waiting,omitempty" schema:"min=0"`
}

// WithDefaults returns l with all defaults set.
func (l Limits) WithDefaults() Limits {
	setDefault(&l.Connections, 10_000)
	setDefault(&l.Requests, 100_000)
	setDefault(&l.Waiting, 10_000)
	return l
}

// Check adds the errors in l to errs, as errors of package pkg in the field at.
func (l Limits) Check(pkg, at string, errs *invalid.Errors) {
	checkCount(pkg, at+".connections", l.Connections, errs)
	checkCount(pkg, at+".requests", l.Requests, errs)
	if l.Requests > maxRequests {
		errs.Add(pkg, at+".requests", "%d: %d is the most", l.Requests, maxRequests)
	}
	checkCount(pkg, at+".waiting", l.Waiting, errs)
}

// Outlier configures the ejection of endpoints whose requests fail.
type Outlier struct {
	// Failures is the number of failures in a row after which an endpoint is ejected. Failures are connections that are
	// refused, cannot be opened in time or are lost, and the gRPC statuses UNAVAILABLE and DATA_LOSS. Zero means 5. Responses that
	// report a failure (502, 503, 504, UNKNOWN, INTERNAL), resets and timeouts eject an endpoint when they are 85 % of at least 20
	// requests of at least two clients, while another endpoint is healthy. What a client causes ejects nothing.
	Failures int `yaml:"failures,omitempty" schema:"min=0"`

	// Statuses are statuses of HTTP that report a failure of the server, beside 502, 503 and 504.
	Statuses []int `yaml:"statuses,omitempty"`

	// EjectionTime is the duration of the first ejection. The n-th ejection in a row lasts n times as long, at most
	// MaxEjectionTime. Zero means 30 s.
	EjectionTime time.Duration `yaml:"ejection_time,omitempty"`

	// MaxEjectionTime is the longest duration of an ejection. Zero means 5 min, or EjectionTime if that is longer.
	MaxEjectionTime time.Duration `yaml:"max_ejection_time,omitempty"`

	// MaxEjected is the largest share of endpoints that may be ejected, in percent: 1 to 100. Zero means 50.
	MaxEjected int `yaml:"max_ejected,omitempty" schema:"min=0"`
}

// WithDefaults returns o with all defaults set.
func (o Outlier) WithDefaults() Outlier {
	setDefault(&o.Failures, 5)
	setDefault(&o.EjectionTime, 30*time.Second)
	setDefault(&o.MaxEjectionTime, max(5*time.Minute, o.EjectionTime))
	setDefault(&o.MaxEjected, 50)
	return o
}

// ejection returns the duration of the n-th ejection in a row.
func (o *Outlier) ejection(n int64) time.Duration {
	if n > int64(o.MaxEjectionTime/o.EjectionTime) {
		return o.MaxEjectionTime // the product could exceed the range
	}
	return time.Duration(n) * o.EjectionTime
}

// Check adds the errors in o to errs, as errors of package pkg in the field at.
func (o Outlier) Check(pkg, at string, errs *invalid.Errors) {
	checkCount(pkg, at+".failures", o.Failures, errs)
	for i, status := range o.Statuses {
		if status < 400 || status > 599 {
			errs.Add(pkg, fmt.Sprintf("%s.statuses[%d]", at, i), "%d: write 400 to 599", status)
		}
	}
	checkEjection(pkg, at+".ejection_time", o.EjectionTime, errs)
	checkEjection(pkg, at+".max_ejection_time", o.MaxEjectionTime, errs)
	if full := o.WithDefaults(); o.MaxEjectionTime > 0 && o.MaxEjectionTime < full.EjectionTime {
		errs.Add(pkg, at+".max_ejection_time", "%v: give at least the ejection_time, %v, or 0 for the default", o.MaxEjectionTime, full.EjectionTime)
	}
	if o.MaxEjected < 0 || o.MaxEjected > 100 {
		errs.Add(pkg, at+".max_ejected", "%d: give a percentage, 1 to 100, or 0 for 50", o.MaxEjected)
	}
}

func checkEjection(pkg, field string, d time.Duration, errs *invalid.Errors) {
	if d < 0 {
		errs.Add(pkg, field, "%v: give at least %v, or 0 for the default", d, invalid.MinDuration)
	}
	errs.AddDuration(pkg, field, d)
}

func checkCount(pkg, field string, n int, errs *invalid.Errors) {
	if n < 0 {
		errs.Add(pkg, field, "%d: give at least 1, or 0 for the default", n)
	}
}

// withDefaults returns a copy of c with all defaults set. c may be nil.
func (c *Config) withDefaults() Config {
	var out Config
	if c != nil {
		out = *c
	}
	setDefault(&out.Policy, LeastRequest)
	out.Limits = out.Limits.WithDefaults()
	out.Limits.Requests = min(out.Limits.Requests, maxRequests)
	if out.Outlier != nil {
		o := out.Outlier.WithDefaults()
		out.Outlier = &o
	}
	return out
}

// setDefault sets value to its default if it is zero.
func setDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}
