package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/ferry/broker/stats"
)

// Histogram is how long requests, or the messages of a function, took.
type Histogram struct {
	Count   uint64   `json:"count"`
	Sum     float64  `json:"sum"`     // seconds
	Buckets []Bucket `json:"buckets"` // cumulative
}

// Bucket counts what took at most UpTo seconds.
type Bucket struct {
	UpTo  float64 `json:"up_to"`
	Count uint64  `json:"count"`
}

// HistogramOf returns what a Latency has counted. Its last bucket has no bound.
func HistogramOf(l stats.Latency) Histogram {
	h := Histogram{Sum: l.Sum.Seconds(), Buckets: make([]Bucket, stats.LatencyBuckets-1)}
	for i, n := range l.Counts {
		h.Count += n
		if i < len(h.Buckets) {
			h.Buckets[i] = Bucket{stats.LatencyBound(i).Seconds(), h.Count}
		}
	}
	return h
}

func histogram(d *prometheus.Desc, h Histogram, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.Buckets))
	for _, b := range h.Buckets {
		buckets[b.UpTo] = b.Count
	}
	return prometheus.MustNewConstHistogram(d, h.Count, h.Sum, buckets, validLabels(labels)...)
}
