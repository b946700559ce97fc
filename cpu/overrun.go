package cpu

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strings"
	"time"
)

// maxOverruns is the most functions with an overrunRecord. A further record replaces the one that was updated longest ago.
const maxOverruns = 256

// functionKey identifies a function: by the name in the context, or by the address of its code.
type functionKey struct {
	name string
	pc   uintptr
}

// overrunRecord describes a function one of whose jobs overran. A job overruns if it does not yield within Config.Lend after
// it was asked.
type overrunRecord struct {
	unyielding bool // the last job that was asked to yield overran
	doublings  int  // expected age of the next job, as a result of Pool.doublings
	times      uint64
	longest    time.Duration
	last       time.Duration // when the record was last updated
}

type nameKey struct{}

// WithName returns a context whose jobs have this name in Stats, instead of the Go name of their function. The pool assumes
// that jobs with the same name are alike. If jobs of a name never checkpoint, a new one waits for the running ones. It waits
// until one of them has run more than twice as long as the last job that ended, or for a second if none has ended. So only a
// few of these jobs use the cores at a time. Running all of them together would not be faster and would delay all other jobs.
func WithName(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, nameKey{}, name)
}

func (j *Job) functionKey() functionKey {
	if name, ok := j.Context.Value(nameKey{}).(string); ok {
		return functionKey{name: name}
	}
	return functionKey{pc: j.pc}
}

// String returns the name, or the Go name of the function without the path of its package.
func (k functionKey) String() string {
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

// assumedRun is the expected running time of a job that does not yield, before any job of its function has ended.
const assumedRun = time.Second

// recordOverrun is called when j has not yielded in time.
func (p *Pool) recordOverrun(j *Job, now time.Duration) {
	k := j.functionKey()
	r := p.overruns[k]
	if r == nil {
		if len(p.overruns) >= maxOverruns {
			p.dropOldestOverrun()
		}
		r = new(overrunRecord)
		p.overruns[k] = r
	}
	j.overran = true
	r.times++
	r.last = now
	r.longest = max(r.longest, p.age(j, now))
	if !r.unyielding {
		r.unyielding = true
		r.doublings = p.doublings(assumedRun)
	}
}

func (p *Pool) dropOldestOverrun() {
	var oldest functionKey
	at := never
	for k, r := range p.overruns {
		if r.last < at {
			oldest, at = k, r.last
		}
	}
	delete(p.overruns, oldest)
}

// recordYield is called when j has yielded in time.
func (p *Pool) recordYield(j *Job) {
	j.overran = false
	if len(p.overruns) == 0 {
		return
	}
	if r := p.overruns[j.functionKey()]; r != nil {
		r.unyielding = false
	}
}

// recordEnd is called when j ends. If the function does not yield, the record expects the next job to run up to twice as long
// as j.
func (p *Pool) recordEnd(j *Job) {
	if len(p.overruns) == 0 {
		return
	}
	if r := p.overruns[j.functionKey()]; r != nil && r.unyielding {
		r.longest = max(r.longest, j.attained)
		r.doublings = p.doublings(j.attained) + 1
	}
}

// firstInLine returns the job that should get the next token, or nil if none waits. A new job of a function that never
// checkpoints cannot be stopped later. So firstInLine first moves it to the level at which it is expected to end.
func (p *Pool) firstInLine() *Job {
	for {
		j := p.queue.leastServed()
		if j == nil || j.state != queuedNew {
			return j
		}
		level := min(p.expectedDoublings(j), levels-1)
		if level <= j.level {
			return j
		}
		p.queue.remove(j)
		j.level = level
		p.queue.push(j)
	}
}

// expectedDoublings returns the age that a new job is expected to reach, as a result of doublings. It uses the record of the
// job's name, and returns 0 without one. Records by code address are not used, because a program may start all its jobs from
// one line.
func (p *Pool) expectedDoublings(j *Job) int {
	if len(p.overruns) == 0 {
		return 0
	}
	k := j.functionKey()
	if r := p.overruns[k]; k.name != "" && r != nil && r.unyielding {
		return r.doublings
	}
	return 0
}

// Unyielding is a function whose last job did not checkpoint when it was asked to yield. The job's token was lent.
type Unyielding struct {
	Name    string
	Jobs    uint64        // number of jobs that overran
	Longest time.Duration // longest known running time of a job that overran
}

// unyielding lists the functions that do not yield, sorted by longest running time.
func (p *Pool) unyielding() []Unyielding {
	var all []Unyielding
	for k, r := range p.overruns {
		if r.unyielding {
			all = append(all, Unyielding{Name: k.String(), Jobs: r.times, Longest: r.longest})
		}
	}
	slices.SortFunc(all, func(a, b Unyielding) int {
		return cmp.Or(cmp.Compare(b.Longest, a.Longest), strings.Compare(a.Name, b.Name))
	})
	return all
}
