package cpu

import (
	"math/bits"
	"time"
)

// levels is the number of ages in the queue. The last one begins at 2^11 first slices, half a second. Jobs above that age take
// turns, so that none has to wait until a younger one has reached its age.
const levels = 13

// oldestEvery makes each 16th grant go to the job that has waited longest, so that a stream of short jobs cannot keep a long
// one waiting for ever.
const oldestEvery = 16

// queue holds the waiting jobs: least attained service first, by level, and in order of arrival within a level.
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

// leastServed returns the job with the least attained service; nil if the queue is empty.
func (q *queue) leastServed() *Job {
	if q.used == 0 {
		return nil
	}
	return q.lists[bits.TrailingZeros16(q.used)].first
}

// next returns the job to grant a token: the least served, but each 16th time the one that has waited longest. The queue must
// not be empty.
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

// doublings returns 0 for less than a first slice, and one more for each doubling of d.
func (p *Pool) doublings(d time.Duration) int { return bits.Len64(uint64(d / p.cfg.FirstSlice)) }

// level returns the level of a job that has run for d.
func (p *Pool) level(d time.Duration) int { return min(p.doublings(d), levels-1) }

// slice returns how long a job that has run for d runs before it is asked to yield.
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

// age returns how long j has run, including this turn.
func (p *Pool) age(j *Job, now time.Duration) time.Duration { return j.attained + now - j.turnStart }
