package peer

import "slices"

// Unflushed lists the streams to which a batch has appended without waking their writing goroutines. The goroutine that
// handles the batch flushes these streams afterwards.
type Unflushed []Flusher

// Flusher is a FrameWriter, or what stands for one in the process. Its values are comparable.
type Flusher interface {
	Unlock()
	UnlockLater()
	Flush()
}

// maxUnflushed bounds how many streams one batch flushes. For further streams the writing goroutine is woken
// immediately.
const maxUnflushed = 8

// Flush flushes the streams.
func (u *Unflushed) Flush() {
	for i, w := range *u {
		w.Flush()
		(*u)[i] = nil
	}
	*u = (*u)[:0]
}

// Unlock unlocks w. It adds w to u instead of waking the writing goroutine. If u is nil or full, it wakes the goroutine.
func (u *Unflushed) Unlock(w Flusher) {
	if u == nil || len(*u) == maxUnflushed {
		w.Unlock()
		return
	}
	if !slices.Contains(*u, w) {
		*u = append(*u, w)
	}
	w.UnlockLater()
}
