package upstream

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/ferry/internal/discovery"
	"example.com/ferry/internal/invalid"
)

// Error is one error in a Config. Its Field is a path such as endpoints[0].address.
type Error = invalid.Error

// Errors is the list of all errors in a Config. It is never empty.
type Errors = invalid.Errors

const maxWeight = 1000

// Check returns all errors in c as Errors, or nil. It resolves no name and connects to no endpoint. It reads the certificate
// files and the files that list endpoints.
func (c *Config) Check() error {
	k := checker{}
	if c == nil {
		c = &Config{}
	}
	if c.Name == "" {
		k.add("name", "empty: give the cluster the name that routes call it by")
	}
	if !c.Balance.Valid() {
		k.add("balance", "%q: write %s, %s or %s", c.Balance, LeastRequest, RoundRobin, EWMA)
	}
	if c.Protocol != "" && c.Protocol.index() < 0 {
		k.add("protocol", "%q: write %s, %s, %s or %s, or leave it out: bolt behind bolt listeners, else http1", c.Protocol, HTTP1, HTTP2, Auto, Bolt)
	}
	k.endpoints(c.Endpoints)
	if c.TLS != nil {
		k.tls(c.TLS, c.Endpoints)
	}
	k.duration("connect_timeout", c.ConnectTimeout)
	k.duration("resolve_interval", c.ResolveInterval)
	k.duration("idle_timeout", max(c.IdleTimeout, 0)) // negative means never, which is valid
	k.duration("heartbeat", max(c.Heartbeat, 0))
	k.count("connections", c.Connections)
	k.count("streams", c.Streams)
	c.Limits.Check("upstream", "limits", &k.errs)
	if c.Health != nil {
		k.health(c.Health)
	}
	if c.Outlier != nil {
		c.Outlier.Check("upstream", "outlier", &k.errs)
	}
	return k.errs.Err()
}

type checker struct{ errs Errors }

func (k *checker) add(field, reason string, args ...any) {
	k.errs.Add("upstream", field, reason, args...)
}

func (k *checker) duration(field string, d time.Duration) {
	if d < 0 {
		k.add(field, "%v: give at least %v, or 0 for the default", d, invalid.MinDuration)
	}
	k.errs.AddDuration("upstream", field, d)
}

func (k *checker) count(field string, n int) {
	if n < 0 {
		k.add(field, "%d: give at least 1, or 0 for the default", n)
	}
}

func (k *checker) endpoints(list []EndpointConfig) {
	if len(list) == 0 {
		k.add("endpoints", "empty: a cluster needs an endpoint")
	}
	first := map[string]int{}
	for i, s := range list {
		at := fmt.Sprintf("endpoints[%d]", i)
		field, value, err := s.check()
		if field = at + field; err != nil {
			k.add(field, "%v", err)
		} else if j, ok := first[value]; ok {
			k.add(field, "%q is listed in endpoints[%d] already: give that one a weight", value, j)
		} else {
			first[value] = i
		}
		if s.Weight != 0 && s.Address == "" {
			k.add(at+".weight", "only an address has this field: SRV records and files have weights of their own")
		} else if s.Weight < 0 || s.Weight > maxWeight {
			k.add(at+".weight", "%d: give 1 to %d, or 0 for 1", s.Weight, maxWeight)
		}
	}
}

// check returns the field that says where the endpoints are found, its value, and what is wrong with it. It reads a file.
func (e *EndpointConfig) check() (field, value string, err error) {
	given := 0
	for _, each := range []struct{ field, value string }{{".address", e.Address}, {".srv", e.SRV}, {".file", e.File}} {
		if each.value != "" {
			field, value = each.field, each.value
			given++
		}
	}
	if given != 1 {
		return "", "", fmt.Errorf("%d of address, srv and file are given: give one", given)
	}
	switch field {
	case ".srv":
		if !discovery.ValidName(e.SRV) || !strings.HasPrefix(e.SRV, "_") {
			err = fmt.Errorf("%q: write the name of SRV records, such as _http._tcp.example.com", e.SRV)
		}
	case ".file":
		_, err = discovery.ReadFile(e.File)
	default:
		_, err = discovery.Address(e.Address, 1, nil)
	}
	return field, value, err
}

func (k *checker) health(h *Health) {
	switch h.Kind {
	case HealthTCP, HealthBolt, HealthGRPC:
		for _, f := range []struct {
			name  string
			given bool
		}{
			{"path", h.Path != ""},
			{"host", h.Host != ""},
			{"statuses", len(h.Statuses) > 0},
		} {
			if f.given {
				k.add("health."+f.name, "only kind %s has this field: leave it out, or change the kind %s", HealthHTTP, h.Kind)
			}
		}
	case HealthHTTP:
		k.http(h)
	default:
		k.add("health.kind", "%q: write %s, %s, %s or %s", h.Kind, HealthTCP, HealthHTTP, HealthBolt, HealthGRPC)
	}
	switch {
	case h.Service == "":
	case h.Kind != HealthGRPC:
		k.add("health.service", "only kind %s has this field: leave it out, or change the kind %s", HealthGRPC, h.Kind)
	case len(h.Service) > maxService || !utf8.ValidString(h.Service):
		k.add("health.service", "write the name of a service in UTF-8, with at most %d bytes", maxService)
	}
	k.duration("health.interval", h.Interval)
	k.duration("health.timeout", h.Timeout)
	k.count("health.unhealthy", h.Unhealthy)
	k.count("health.healthy", h.Healthy)
}

func (k *checker) http(h *Health) {
	if h.Path != "" && !validGet(h.Path, "localhost") {
		k.add("health.path", "%q: write a path that begins with a slash, with other characters than visible ones escaped", h.Path)
	}
	if h.Host != "" && !validGet("/", h.Host) {
		k.add("health.host", "%q: write a name or address, with or without :port", h.Host)
	}
	for i, status := range h.Statuses {
		if status < 200 || status > 599 {
			k.add(fmt.Sprintf("health.statuses[%d]", i), "%d: write one of 200 to 599", status)
		}
	}
}
