package cpu

import (
	"math"
	"sync/atomic"
	"time"
)

// preemptEvery is how often a running job calls letKernelPreempt. A call takes about half a microsecond.
const preemptEvery = 200 * time.Microsecond

// maxSkipped bounds Job.skip. A job whose checkpoints become rarer soon calls letKernelPreempt as often as before.
const maxSkipped = 256

// shortSlices is true once TuneProcess has given all threads short slices. With longer slices letKernelPreempt has no effect.
var shortSlices atomic.Bool

// skipCheckpoints is called when Job.skip checkpoints have passed. It calls letKernelPreempt if that is due, and sets how many checkpoints pass
// until the next call. To read the clock at each checkpoint would take longer than the rest of the checkpoint.
func (j *Job) skipCheckpoints() {
	if !shortSlices.Load() {
		j.skip = math.MaxInt32
		return
	}
	now := j.pool.now()
	if j.lastPreempt == 0 { // the first checkpoint: jobs of a few microseconds must not call letKernelPreempt each
		j.lastPreempt = time.Duration(j.pool.lastPreempt.Load())
	}
	since := now - j.lastPreempt
	if since >= preemptEvery {
		letKernelPreempt()
		j.lastPreempt = now
		j.pool.lastPreempt.Store(int64(now))
	}
	j.skipped = nextSkipped(j.skipped, since)
	j.skip = j.skipped
}

// nextSkipped returns how many checkpoints to skip, if the last ones that were skipped took d. It aims at half of preemptEvery to all of it.
func nextSkipped(skipped int32, d time.Duration) int32 {
	switch {
	case d < preemptEvery/2:
		return min(2*skipped+1, maxSkipped)
	case d > preemptEvery:
		return skipped / 2
	}
	return skipped
}
