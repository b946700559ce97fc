package cpu

import (
	"math/bits"
	"time"
)

// levels is the number of levels in the queue. Each level is a range of ages. The last level begins at 2^11 first slices, half
// a second. All older jobs take turns in the last level, so none waits until a younger one has reached its age.
const levels = 13

// oldestEvery is how often a token goes to the job that has waited longest: at each 16th grant. Otherwise a stream of short
// jobs could make a long job wait for ever.
const oldestEvery = 16

// queue holds the waiting jobs, sorted by least attained service. Jobs of one level are in order of arrival.
type queue struct {
	lists [levels]struct{ first, last *Job }
	used  uint16 // bit i: lists[i] is not empty
	len   int
	turns uint
}

func (q *queue) push(j *Job) {
	l := &q.lists[j.level]
	j.prev, j.next = l.last, nil
	if l.last == nil {
		l.first = j
	} else {
		l.last.next = j
	}
	l.last = j
	q.used |= 1 << j.level
	q.len++
}

func (q *queue) remove(j *Job) {
	l := &q.lists[j.level]
	if j.prev == nil {
		l.first = j.next
	} else {
		j.prev.next = j.next
	}
	if j.next == nil {
		l.last = j.prev
	} else {
		j.next.prev = j.prev
	}
	if l.first == nil {
		q.used &^= 1 << j.level
	}
	j.prev, j.next = nil, nil
	q.len--
}

// leastServed returns the job with the least attained service, or nil if the queue is empty.
func (q *queue) leastServed() *Job {
	if q.used == 0 {
		return nil
	}
	return q.lists[bits.TrailingZeros16(q.used)].first
}

// next returns the job that gets the next token. That is the least served job, but each 16th time the job that has waited
// longest. The queue must not be empty.
func (q *queue) next() *Job {
	j := q.leastServed()
	if q.turns++; q.turns%oldestEvery == 0 {
		for i := range q.lists {
			if f := q.lists[i].first; f != nil && f.queued < j.queued {
				j = f
			}
		}
	}
	return j
}

// jobs lists all waiting jobs, the least served first.
func (q *queue) jobs() []*Job {
	all := make([]*Job, 0, q.len)
	for i := range q.lists {
		for j := q.lists[i].first; j != nil; j = j.next {
			all = append(all, j)
		}
	}
	return all
}

// doublings returns 0 if d is less than a first slice. Each doubling of d adds 1.
func (p *Pool) doublings(d time.Duration) int { return bits.Len64(uint64(d / p.cfg.FirstSlice)) }

// level returns the level of a job that has run for d.
func (p *Pool) level(d time.Duration) int { return min(p.doublings(d), levels-1) }

// slice returns the length of the next slice of a job that has run for d. After its slice a job is asked to yield.
func (p *Pool) slice(d time.Duration) time.Duration {
	s := p.cfg.FirstSlice
	for range p.level(d) {
		if s >= p.cfg.LongestSlice {
			break
		}
		s *= 2
	}
	return min(s, p.cfg.LongestSlice)
}

// age returns how long j has run, including the current turn.
func (p *Pool) age(j *Job, now time.Duration) time.Duration { return j.attained + now - j.turnStart }
