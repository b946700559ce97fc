package forward

import (
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// held are messages in memory, in order, with the tag and the path of each.
type held struct {
	frames peer.Queue
	runs   peer.FIFO[run]
	count  int // messages
}

// run says to what the next frames of a held belong.
type run struct {
	tag   *Tag
	path  *native.Path // nil: the messages are of clients of this node
	bytes int
	count int
}

// maxRun bounds the bytes that two pushes join in one run, so that a record of the spool has about that length.
const maxRun = 64 << 10

func (h *held) bytes() int { return h.frames.Bytes() }

// push adds n frames.
func (h *held) push(t *Tag, path *native.Path, frames []byte, n int) {
	h.frames.Push(frames, nil)
	h.count += n
	if h.runs.Len() > 0 {
		if last := h.runs.Back(); last.tag == t && last.path == path && last.bytes+len(frames) <= maxRun {
			last.bytes += len(frames)
			last.count += n
			return
		}
	}
	h.runs.Push(run{t, path, len(frames), n})
}

// front returns the oldest contiguous frames of the first run. The held must not be empty.
func (h *held) front() (r *run, frames []byte) {
	r = h.runs.Front()
	frames = h.frames.Front().Frames
	return r, frames[:min(len(frames), r.bytes)]
}

// cut removes n frames of size bytes from front.
func (h *held) cut(size, n int) {
	h.frames.Cut(size)
	h.count -= n
	r := h.runs.Front()
	r.bytes -= size
	if r.count -= n; r.bytes == 0 {
		h.runs.Pop()
	}
}
