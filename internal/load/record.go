package load

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/balance"
)

// maxExamples is how many failures are kept with their text.
const maxExamples = 5

// counters are the numbers of measured requests. They are updated as requests end, for Progress.
type counters struct {
	sent, received, ok, failed, unfinished atomic.Int64
}

// shard is where some of the workers record, so that they seldom meet at its lock.
type shard struct {
	mu            sync.Mutex
	latency, late *Histogram
	last          time.Duration // when the last response was complete
}

func (s *shard) add(latency, end time.Duration) {
	s.mu.Lock()
	s.latency.Add(latency)
	s.last = max(s.last, end)
	s.mu.Unlock()
}

func (s *shard) addLate(late time.Duration) {
	s.mu.Lock()
	s.late.Add(late)
	s.mu.Unlock()
}

// failures counts failures by kind.
type failures struct {
	mu       sync.Mutex
	kinds    map[string]FailureCount
	examples []string
}

// maxKinds bounds the memory that a server can make a run use. Further kinds count as "other".
const maxKinds = 100

func (f *failures) add(failure *Failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kinds == nil {
		f.kinds = map[string]FailureCount{}
	}
	kind := failure.Kind
	if _, known := f.kinds[kind]; !known {
		if len(f.kinds) >= maxKinds {
			kind = "other"
		}
		if len(f.examples) < maxExamples { // the first one of each kind
			f.examples = append(f.examples, failure.Error())
		}
	}
	count := f.kinds[kind]
	count.Kind = kind
	count.Count++
	if kind == failure.Kind && failure.Outcome != balance.Success {
		count.Outcome = failure.Outcome.String()
	}
	f.kinds[kind] = count
}

// list returns the kinds, the most frequent first.
func (f *failures) list() []FailureCount {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []FailureCount{}
	for _, count := range f.kinds {
		all = append(all, count)
	}
	slices.SortFunc(all, func(a, b FailureCount) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Kind, b.Kind)) })
	return all
}
