package cpu

import (
	"cmp"
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
	unyielding bool // its last job that was asked to yield did not
	doublings  int  // the age its next job is taken to reach
	times      uint64
	longest    time.Duration
	last       time.Duration // when a job of it was noted last
}

type nameKey struct{}

// WithName returns a context whose jobs go by name in Stats, rather than by the Go name of their function. Jobs of one name
// are taken to be alike: where those of a name never checkpoint, a new one waits for those that run, until one has taken
// more than twice as long as the last did, or a second if none has ended yet. So they use the cores a few at a time, and
// not all at once, which is no faster and in the way of everybody else.
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

// untold is how long a job of a kind that does not yield is taken to last as long as none has ended.
const untold = time.Second

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
	j.proven = true
	h.times++
	h.last = now
	h.longest = max(h.longest, p.age(j, now))
	if !h.unyielding {
		h.unyielding = true
		h.doublings = p.doublings(untold)
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
		h.unyielding = false
	}
}

// remember notes how old a job became whose kind does not yield: the next may become twice that.
func (p *Pool) remember(j *Job) {
	if len(p.habits) == 0 {
		return
	}
	if h := p.habits[j.key()]; h != nil && h.unyielding {
		h.longest = max(h.longest, j.attained)
		h.doublings = p.doublings(j.attained) + 1
	}
}

// best is the job to go first, nil if nobody waits. A new job of a function that never checkpoints, and so can't be told
// to wait later, stands where it is expected to end.
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

// expected is the age a new job is taken to reach: 0, or by its name's habit. That jobs share their code says little, as
// a program may start all it has from one line.
func (p *Pool) expected(j *Job) int {
	if len(p.habits) == 0 {
		return 0
	}
	k := j.key()
	if h := p.habits[k]; k.name != "" && h != nil && h.unyielding {
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
		if h.unyielding {
			all = append(all, Unyielding{Name: k.String(), Jobs: h.times, Longest: h.longest})
		}
	}
	slices.SortFunc(all, func(a, b Unyielding) int {
		return cmp.Or(cmp.Compare(b.Longest, a.Longest), strings.Compare(a.Name, b.Name))
	})
	return all
}
