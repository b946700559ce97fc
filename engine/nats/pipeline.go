package nats

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/engine"
)

// pipelined reports whether records are sent one by one without waiting for each. That is for an embedded server that syncs at an
// interval: it stages each atomic batch in files of its own, and syncs these in any case. Records stay in order, because a
// stream that has failed to store one stores no other until the server starts again.
func (e *Engine) pipelined() bool { return e.host != nil && e.caps.Sync == engine.SyncInterval }

// storeEach sends the records of a batch and waits for an acknowledgement of each. It marks those that are stored.
func (a *appender) storeEach(records []*entry, batch []entry) error {
	cut := a.s.e.cut.wait()
	prefix := a.attempt() + "."
	stored := make([]bool, len(records))
	left, repeated := 0, 0
	var failed error
	for i := range records {
		if failed = a.publish(records[i:i+1], "", prefix+strconv.Itoa(i)); failed != nil {
			break
		}
		left++
	}
	timeout := time.NewTimer(ackTimeout)
	defer timeout.Stop()
	for left > 0 {
		select {
		case m := <-a.acks:
			number, ok := strings.CutPrefix(m.Subject, prefix)
			i, err := strconv.Atoi(number)
			if !ok || err != nil || i < 0 || i >= len(records) {
				continue
			}
			left--
			got, err := parseAck(m)
			switch {
			case err != nil:
				failed = err
			case got.Error != nil:
				failed = ackError(got.Error)
			default:
				stored[i] = true
				if got.Duplicate && a.doubtful == 0 {
					repeated++
				}
				a.last = max(a.last, got.Sequence)
			}
		case <-timeout.C:
			failed = errNoAck
		case <-cut:
			failed = errCut
		case <-a.s.ending:
			return a.s.endError()
		}
		if errors.Is(failed, errNoAck) || errors.Is(failed, errCut) {
			a.slow++
			a.doubtful = max(a.doubtful, len(batch))
			break
		}
	}
	a.s.e.host.stored(a.s.name, a.last)
	if failed == nil {
		a.found += repeated
	} else {
		a.repeated.Add(uint64(repeated))
		a.skip(batch, func(e *entry) bool {
			i := slices.Index(records, e)
			return i >= 0 && stored[i]
		})
	}
	return failed
}

// skip marks entries of the batch that need no further attempt. It returns how many.
func (a *appender) skip(batch []entry, done func(*entry) bool) (marked uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range batch {
		if !batch[i].skip && done(&batch[i]) {
			a.queue[a.head+i].skip = true
			marked++
		}
	}
	return marked
}
