package cpu

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"time"
)

// maxHabits bounds how many functions a pool remembers; beyond, the one seen longest ago is forgotten.
const maxHabits = 256

// key tells functions apart: by the name a context gives them, or by their code.
type key struct {
	name string
	pc   uintptr
}

// habit is what a pool knows of a function that ignored being asked to yield.
type habit struct {
	doublings int // the age its last job reached; 0 if that one yielded when asked
	times     uint64
	longest   time.Duration
	last      time.Duration // when its token was lent last
}

type nameKey struct{}

// WithName returns a context whose jobs go by name in Stats, rather than by the Go name of their function.
// Functions that share their code, such as closures made by one line, need it to be told apart.
func WithName(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, nameKey{}, name)
}

func (j *Job) key() key {
	if name, ok := j.Context.Value(nameKey{}).(string); ok {
		return key{name: name}
	}
	return key{pc: j.pc}
}

// String is the name given, or the Go name of the function without the path of its package.
func (k key) String() string {
	if k.name != "" {
		return k.name
	}
	f := runtime.FuncForPC(k.pc)
	if f == nil {
		return "unknown"
	}
	name := f.Name()
	return name[strings.LastIndexByte(name, '/')+1:]
}

// blame notes that j ignored that it was asked to yield.
func (p *Pool) blame(j *Job, now time.Duration) {
	k := j.key()
	h := p.habits[k]
	if h == nil {
		if len(p.habits) >= maxHabits {
			p.forgetOldest()
		}
		h = new(habit)
		p.habits[k] = h
	}
	if !j.proven {
		j.proven = true
		h.times++
	}
	h.last = now
	h.longest = max(h.longest, p.age(j, now))
	if h.doublings == 0 {
		h.doublings = max(p.doublings(p.age(j, now)), 1)
	}
}

func (p *Pool) forgetOldest() {
	var oldest key
	at := never
	for k, h := range p.habits {
		if h.last < at {
			oldest, at = k, h.last
		}
	}
	delete(p.habits, oldest)
}

// clear notes that j yielded when it was asked.
func (p *Pool) clear(j *Job) {
	j.proven = false
	if len(p.habits) == 0 {
		return
	}
	if h := p.habits[j.key()]; h != nil {
		h.doublings = 0
	}
}

// remember notes how old a job became whose kind does not yield.
func (p *Pool) remember(j *Job) {
	if len(p.habits) == 0 {
		return
	}
	if h := p.habits[j.key()]; h != nil && h.doublings > 0 {
		h.longest = max(h.longest, j.attained)
		h.doublings = max(p.doublings(j.attained), 1)
	}
}

// best is the job to go first, nil if nobody waits. A new job of a function that never checkpoints, and so can't be told
// to wait later, stands where the last of its kind ended.
func (p *Pool) best() *Job {
	for {
		j := p.queue.best()
		if j == nil || j.state != fresh {
			return j
		}
		level := min(p.expected(j), levels-1)
		if level <= j.level {
			return j
		}
		p.queue.remove(j)
		j.level = level
		p.queue.push(j)
	}
}

// expected is the age a new job is taken to have.
func (p *Pool) expected(j *Job) int {
	if len(p.habits) == 0 {
		return 0
	}
	if h := p.habits[j.key()]; h != nil {
		return h.doublings
	}
	return 0
}

// Unyielding is a function whose last job did not checkpoint when it was asked to yield, so that its token was lent.
type Unyielding struct {
	Name    string
	Jobs    uint64        // how many of its jobs did not
	Longest time.Duration // the longest known time one of them ran
}

// unyielding lists them, the longest first.
func (p *Pool) unyielding() []Unyielding {
	var all []Unyielding
	for k, h := range p.habits {
		if h.doublings > 0 {
			all = append(all, Unyielding{Name: k.String(), Jobs: h.times, Longest: h.longest})
		}
	}
	slices.SortFunc(all, func(a, b Unyielding) int {
		if a.Longest != b.Longest {
			return int(b.Longest - a.Longest)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}
