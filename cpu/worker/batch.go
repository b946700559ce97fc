package worker

import (
	"bytes"
	"errors"
	"slices"

	"example.com/ferry"
)

// batch is the state of one call of HandleBatch.
type batch struct {
	in       []ferry.Message
	finished int // messages at the front that are handled, have failed, or were left out
	failed   []failure
}

// failure is a message that has failed or was left out.
type failure struct {
	index int
	err   error
}

// end notes that the next message has ended, with its error or nil.
func (b *batch) end(err error) {
	if err != nil {
		b.failed = append(b.failed, failure{b.finished, err})
	}
	b.finished++
}

// leave notes that no message that is left will be tried.
func (b *batch) leave() {
	for b.finished < len(b.in) {
		b.end(ferry.ErrNotTried)
	}
}

// refuses reports whether m comes from a stream and an earlier message with its key has failed.
func (b *batch) refuses(m *ferry.Message) bool {
	return m.Sequence != 0 && slices.ContainsFunc(b.failed, func(f failure) bool { return sameKey(&b.in[f.index], m) })
}

// sameKey reports whether two messages from a stream keep their order. Without a key the tag is the key.
func sameKey(a, b *ferry.Message) bool {
	if len(a.Key)+len(b.Key) == 0 {
		return a.Tag == b.Tag
	}
	return bytes.Equal(a.Key, b.Key)
}

// result returns the error of the batch.
func (b *batch) result() error {
	switch {
	case len(b.failed) == 0:
		return nil
	case len(b.in) > 1 && b.in[0].Sequence != 0:
		each := ferry.BatchError{}
		for _, f := range b.failed {
			each[f.index] = f.err
		}
		return each
	case len(b.failed) == 1:
		return b.failed[0].err
	}
	var all []error
	for _, f := range b.failed {
		if !errors.Is(f.err, ferry.ErrNotTried) {
			all = append(all, f.err)
		}
	}
	return errors.Join(all...)
}
