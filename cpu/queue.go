package cpu

import (
	"math/bits"
	"time"
)

// levels is how many ages the queue tells apart. The last begins at 2^11 first slices, half a second: jobs older than that
// take turns, so that none has to wait until a younger one has caught up.
const levels = 13

// floor is how often the job that has waited longest goes first whatever its age, so that a stream of short jobs can't keep a
// long one waiting for ever: once in so many turns.
const floor = 16

// queue is the line of waiting jobs: least attained service first, by level, and in order of arrival within one.
type queue struct {
	lists [levels]struct{ first, last *Job }
	used  uint16 // bit i: lists[i] holds something
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

// best is the job with the least attained service; nil if nobody waits.
func (q *queue) best() *Job {
	if q.used == 0 {
		return nil
	}
	return q.lists[bits.TrailingZeros16(q.used)].first
}

// next is the job whose turn it is: the best, but each 16th time the one that has waited longest. Somebody must be waiting.
func (q *queue) next() *Job {
	j := q.best()
	if q.turns++; q.turns%floor == 0 {
		for i := range q.lists {
			if f := q.lists[i].first; f != nil && f.queued < j.queued {
				j = f
			}
		}
	}
	return j
}

// jobs lists all that wait, the best first.
func (q *queue) jobs() []*Job {
	all := make([]*Job, 0, q.len)
	for i := range q.lists {
		for j := q.lists[i].first; j != nil; j = j.next {
			all = append(all, j)
		}
	}
	return all
}

// doublings is 0 for a job that has run less than a first slice, and one more for each doubling.
func (p *Pool) doublings(d time.Duration) int { return bits.Len64(uint64(d / p.cfg.FirstSlice)) }

// level is the queue's list for a job that has run for d.
func (p *Pool) level(d time.Duration) int { return min(p.doublings(d), levels-1) }

// slice is how long a job that has run for d may run before it is asked to yield.
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

// age is how long j has run, this turn included.
func (p *Pool) age(j *Job, now time.Duration) time.Duration { return j.attained + now - j.began }
