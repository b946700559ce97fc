package upstream

import (
	"slices"
	"time"
)

// withDefaults returns a copy of c with all defaults set.
func (c *Config) withDefaults() Config {
	out := *c
	out.Endpoints = slices.Clone(c.Endpoints)
	for i := range out.Endpoints {
		setDefault(&out.Endpoints[i].Weight, 1)
	}
	setDefault(&out.Balance, LeastRequest)
	setDefault(&out.ConnectTimeout, time.Second)
	setDefault(&out.IdleTimeout, time.Minute)
	setDefault(&out.Connections, 4)
	setDefault(&out.Streams, 128)
	setDefault(&out.Heartbeat, 15*time.Second)
	setDefault(&out.ResolveInterval, 30*time.Second)
	out.Limits = c.Limits.WithDefaults()
	if c.TLS != nil {
		t := *c.TLS
		out.TLS = &t
	}
	if c.Health != nil {
		h := *c.Health
		h.Statuses = slices.Clone(h.Statuses)
		setDefault(&h.Path, "/")
		setDefault(&h.Interval, 5*time.Second)
		setDefault(&h.Timeout, time.Second)
		setDefault(&h.Unhealthy, 3)
		setDefault(&h.Healthy, 2)
		out.Health = &h
	}
	if c.Outlier != nil {
		o := c.Outlier.WithDefaults()
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
