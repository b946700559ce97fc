package operator

import (
	"container/heap"
	"math"
	"slices"
	"time"
)

// timeline is a time that goes on: the wall clock, or what EventTime has seen. It fires the timers of operators.
//
// The timers of operators in a row have rising levels. When the time goes on, those of the first level fire in order of their times,
// then those of the next one. So a window has emitted all its results before the windows behind it see that time has passed.
type timeline struct {
	now, before int64 // before is the value of now before the timers began to fire
	passed      int   // levels above it still have the time before
	due         int64 // advance has work from this time on
	levels      []timers
	idle        bool     // other timelines do not wait for this one
	watchers    []func() // called after each advance
	ends        []step   // when windows on this line end
	scheduled   uint64   // counts calls of schedule
}

func newTimeline(now int64) *timeline {
	return &timeline{now: now, passed: math.MaxInt, due: math.MaxInt64}
}

// advance makes now the time, unless it is later already.
func (l *timeline) advance(now int64) {
	if now < l.due {
		l.now = max(l.now, now)
		return
	}
	l.fire(max(l.now, now))
}

func (l *timeline) fire(now int64) {
	l.before, l.now = l.now, now
	for level := 0; level < len(l.levels); level++ {
		l.passed = level
		for len(l.levels[level]) > 0 && l.levels[level][0].at <= now {
			t := heap.Pop(&l.levels[level]).(*timer)
			t.fire(t.at)
		}
	}
	l.passed = math.MaxInt
	l.due = l.nextDue()
	for _, changed := range l.watchers {
		changed()
	}
}

// nextDue returns the time of the next timer. With watchers each advance has work.
func (l *timeline) nextDue() int64 {
	if len(l.watchers) > 0 {
		return math.MinInt64
	}
	due := int64(math.MaxInt64)
	for _, q := range l.levels {
		if len(q) > 0 {
			due = min(due, q[0].at)
		}
	}
	return due
}

// watch calls changed after each advance.
func (l *timeline) watch(changed func()) {
	l.watchers = append(l.watchers, changed)
	l.due = math.MinInt64
}

// step says when windows end: size behind each multiple of every.
type step struct{ size, every int64 }

// endsAt notes that windows on the line end at the times of e.
func (l *timeline) endsAt(e step) {
	if !slices.Contains(l.ends, e) {
		l.ends = append(l.ends, e)
	}
}

// horizon returns the first end of a window that a value of a time may belong to. Before that time the value is not late, and schedules
// no timer.
func (l *timeline) horizon(at int64) int64 {
	first := int64(math.MaxInt64)
	for _, e := range l.ends {
		if at < math.MinInt64+e.size+e.every {
			return math.MinInt64
		}
		first = min(first, later(at-floorMod(at-e.size, e.every), time.Duration(e.every)))
	}
	return first
}

// clock is the time of a stream's values: no value comes that is earlier, except late ones.
type clock struct {
	line  *timeline
	level int
}

// now returns the time.
func (c clock) now() int64 {
	if c.level > c.line.passed {
		return c.line.before
	}
	return c.line.now
}

// schedule makes t fire at a time, instead of another one for which it was scheduled. A time that has passed is soon.
func (c clock) schedule(t *timer, at int64) {
	l := c.line
	for len(l.levels) <= c.level {
		l.levels = append(l.levels, nil)
	}
	l.scheduled++
	t.at, t.order = at, l.scheduled
	q := &l.levels[c.level]
	if t.place > 0 {
		heap.Fix(q, t.place-1)
	} else {
		heap.Push(q, t)
	}
	l.due = min(l.due, at)
}

// cancel makes t not fire.
func (c clock) cancel(t *timer) {
	if t.place > 0 {
		heap.Remove(&c.line.levels[c.level], t.place-1)
	}
}

// timer calls fire once at a time. An operator uses it again and again.
type timer struct {
	fire  func(at int64)
	at    int64
	order uint64 // of two timers with one time the one that was scheduled first fires first
	place int    // in the heap, from 1; 0 if the timer is not scheduled
}

// timers is a heap.
type timers []*timer

func (q timers) Len() int { return len(q) }

func (q timers) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}

func (q timers) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i+1, j+1
}

func (q *timers) Push(t any) {
	*q = append(*q, t.(*timer))
	(*q)[len(*q)-1].place = len(*q)
}

func (q *timers) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	t.place = 0
	(*q)[last] = nil
	*q = (*q)[:last]
	return t
}
