package upstream

import (
	"slices"
	"time"
)

// withDefaults returns a copy of c in which nothing is left to be filled in.
func (c *Config) withDefaults() Config {
	out := *c
	out.Endpoints = slices.Clone(c.Endpoints)
	for i := range out.Endpoints {
		fill(&out.Endpoints[i].Weight, 1)
	}
	fill(&out.Balance, LeastRequest)
	fill(&out.ConnectTimeout, time.Second)
	fill(&out.IdleTimeout, time.Minute)
	fill(&out.Connections, 4)
	fill(&out.Streams, 128)
	fill(&out.Heartbeat, 15*time.Second)
	fill(&out.ResolveInterval, 30*time.Second)
	fill(&out.Limits.Connections, 10_000)
	fill(&out.Limits.Requests, 100_000)
	fill(&out.Limits.Waiting, 10_000)
	if c.Health != nil {
		h := *c.Health
		h.Statuses = slices.Clone(h.Statuses)
		fill(&h.Path, "/")
		fill(&h.Interval, 5*time.Second)
		fill(&h.Timeout, time.Second)
		fill(&h.Unhealthy, 3)
		fill(&h.Healthy, 2)
		out.Health = &h
	}
	if c.Outlier != nil {
		o := *c.Outlier
		fill(&o.Failures, 5)
		fill(&o.EjectionTime, 30*time.Second)
		fill(&o.MaxEjected, 50)
		out.Outlier = &o
	}
	return out
}

// fill gives value its default if it is zero.
func fill[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}
