package conformance

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// run is one case while it is played. The case runs on a goroutine of its own. Other goroutines read connections and the driver: they
// change the state under mu and call wake.
type run struct {
	ctx     context.Context // ends at the timeout of the case
	timeout time.Duration

	mu     sync.Mutex
	news   chan struct{} // closed and replaced by wake
	broken *outcome      // a rule that the implementation has broken, or why it cannot be tested, whatever the case waits for
	outcome
	atEnd []func()
	hint  func() string // what else a verdict about missing frames says
	log   func() string // the log of the driver
}

// outcome is how a case ends.
type outcome struct {
	verdict   Verdict
	want, got string
}

func newRun(ctx context.Context, timeout time.Duration) *run {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	none := func() string { return "" }
	return &run{ctx: ctx, timeout: timeout, news: make(chan struct{}), outcome: outcome{verdict: Pass}, atEnd: []func(){cancel}, hint: none, log: none}
}

// play runs a case to its end and returns the outcome. The functions of cleanup run behind it, the last one first.
func (r *run) play(body func()) outcome {
	step := func(f func()) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	}
	step(func() {
		body()
		r.checkRules()
	})
	for i := len(r.atEnd) - 1; i >= 0; i-- {
		step(r.atEnd[i])
	}
	return r.outcome
}

// cleanup registers a function that runs when the case has ended. It may fail the case.
func (r *run) cleanup(f func()) { r.atEnd = append(r.atEnd, f) }

// fail ends the case. The first failure counts.
func (r *run) fail(want, got string, args ...any) { r.end(Fail, want, fmt.Sprintf(got, args...)) }

// skip ends the case, which does not apply.
func (r *run) skip(why string, args ...any) { r.end(Skip, "", fmt.Sprintf(why, args...)) }

// end ends the goroutine of the case, as testing.T.FailNow does.
func (r *run) end(v Verdict, want, got string) {
	if r.verdict == Pass {
		r.outcome = outcome{v, want, got}
	}
	runtime.Goexit()
}

// breakRule fails the case from another goroutine. The caller holds mu.
func (r *run) breakRule(want, got string, args ...any) {
	if r.broken == nil {
		r.broken = &outcome{Fail, want, fmt.Sprintf(got, args...)}
	}
}

// wake lets await look again. The caller holds mu.
func (r *run) wake() {
	close(r.news)
	r.news = make(chan struct{})
}

// checkRules fails the case if a rule was broken.
func (r *run) checkRules() {
	r.mu.Lock()
	broken := r.broken
	r.mu.Unlock()
	if broken != nil {
		r.end(broken.verdict, broken.want, broken.got)
	}
}

// await waits until look returns true. look runs under mu. A text that it returns fails the case at once. After the timeout of the
// case, seen says what there is instead.
func (r *run) await(want string, look func() (done bool, wrong string), seen func() string) {
	for {
		r.mu.Lock()
		done, wrong := look()
		news, broken := r.news, r.broken
		r.mu.Unlock()
		switch {
		case broken != nil:
			r.end(broken.verdict, broken.want, broken.got)
		case wrong != "":
			r.fail(want, "%s", wrong)
		case done:
			return
		}
		select {
		case <-news:
		case <-r.ctx.Done():
			r.mu.Lock()
			what := seen()
			r.mu.Unlock()
			r.fail(want, "%s, until the case ended after %v%s", what, r.timeout, r.hint())
		}
	}
}
