package load

import (
	"encoding/json"
	"time"
)

// durations is a Histogram in JSON, in ns.
type durations struct {
	Count     int              `json:"count"`
	Min       int64            `json:"min"`
	Mean      int64            `json:"mean"`
	Max       int64            `json:"max"`
	Quantiles map[string]int64 `json:"quantiles"`
}

// MarshalJSON writes the histogram's quantiles, in ns.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	d := durations{h.Count(), h.Min().Nanoseconds(), h.Mean().Nanoseconds(), h.Max().Nanoseconds(), map[string]int64{}}
	for _, q := range quantiles {
		d.Quantiles[q.name] = h.Quantile(q.q).Nanoseconds()
	}
	return json.Marshal(d)
}

// MarshalJSON writes one object. Durations are in ns.
func (r *Result) MarshalJSON() ([]byte, error) {
	out := struct {
		Rate        float64        `json:"rate,omitempty"`
		Arrivals    string         `json:"arrivals,omitempty"`
		Workers     int            `json:"workers"`
		Took        time.Duration  `json:"took_ns"`
		Interrupted bool           `json:"interrupted,omitempty"`
		Sent        int            `json:"sent"`
		Received    int            `json:"received"`
		OK          int            `json:"ok"`
		Failed      int            `json:"failed"`
		Unfinished  int            `json:"unfinished"`
		Throughput  float64        `json:"throughput"`
		Latency     *Histogram     `json:"latency_ns"`
		Lateness    *Histogram     `json:"lateness_ns,omitempty"`
		Void        string         `json:"void,omitempty"`
		Failures    []FailureCount `json:"failures,omitempty"`
		Examples    []string       `json:"examples,omitempty"`
	}{
		r.Config.Rate, "", r.Config.Workers, r.Took, r.Interrupted, r.Sent, r.Received, r.OK, r.Failed, r.Unfinished, r.Throughput(),
		r.Latency, nil, r.Void, r.Failures, r.Examples,
	}
	if r.Config.Rate > 0 {
		out.Arrivals, out.Lateness = "poisson", r.Late
		if r.Config.Constant {
			out.Arrivals = "constant"
		}
	}
	return json.Marshal(out)
}
