package top

import (
	"time"

	"example.com/ferry/node/admin"
)

// rateWindow is the time over which rates are averaged.
const rateWindow = 5 * time.Second

// window holds the samples of the last seconds, from which rates are made.
type window struct{ samples []*Sample }

// add adds the newest sample. Samples from before a restart of the node are dropped: its counters began again.
func (w *window) add(s *Sample) {
	if n := len(w.samples); n > 0 && restarted(w.samples[n-1], s) {
		w.samples = nil
	}
	w.samples = append(w.samples, s)
	for len(w.samples) > 2 && s.Time.Sub(w.samples[0].Time) > rateWindow+rateWindow/10 {
		w.samples = w.samples[1:]
	}
}

// now returns the newest sample; nil if there is none.
func (w *window) now() *Sample {
	if len(w.samples) == 0 {
		return nil
	}
	return w.samples[len(w.samples)-1]
}

// before returns the sample that rates are relative to; nil if there is only one.
func (w *window) before() *Sample {
	if len(w.samples) < 2 {
		return nil
	}
	return w.samples[0]
}

// seconds returns the time between before and now.
func (w *window) seconds() float64 {
	if len(w.samples) < 2 {
		return 0
	}
	return w.now().Time.Sub(w.samples[0].Time).Seconds()
}

func restarted(old, s *Sample) bool {
	switch {
	case old.Streams != nil && s.Streams != nil:
		return s.Streams.Now < old.Streams.Now
	case old.Proxy != nil && s.Proxy != nil:
		return s.Proxy.Now < old.Proxy.Now
	}
	for i, t := range s.Tags {
		if i < len(old.Tags) && old.Tags[i].Name == t.Name && t.In.Messages < old.Tags[i].In.Messages {
			return true
		}
	}
	return false
}

// rate returns the increase of a counter per second. It is unknown without an older sample, and if the counter was reset.
func (w *window) rate(now, old uint64) figure {
	if s := w.seconds(); s > 0 && now >= old {
		return figure{float64(now-old) / s, true}
	}
	return figure{}
}

// figure is a number that may be unknown.
type figure struct {
	v     float64
	known bool
}

func known[T int | int64 | uint64 | float64](v T) figure { return figure{float64(v), true} }

// index returns the elements of list by key.
func index[T any](list []T, key func(*T) string) map[string]*T {
	all := make(map[string]*T, len(list))
	for i := range list {
		all[key(&list[i])] = &list[i]
	}
	return all
}

func streamsOf(s *Sample) []admin.StoredState {
	if s == nil || s.Streams == nil {
		return nil
	}
	return s.Streams.Streams
}

func proxyOf(s *Sample) *admin.ProxyState {
	if s == nil || s.Proxy == nil {
		return &admin.ProxyState{}
	}
	return s.Proxy
}
