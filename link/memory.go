package link

import (
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// Origin is the publisher of a message. Its values are comparable.
type Origin interface {
	// Refused says that n messages, which Push has taken, are dropped. It is called before the calls of Await for their positions end.
	Refused(n int, why error)
}

// run is successive messages of one tag, which came by one path from one publisher.
type run struct {
	tag   string
	path  *native.Path // nil: the messages are of clients of this node
	from  Origin       // nil: the publisher is not told
	epoch uint64       // in which Push has taken them
	bytes int
	count int
}

// maxRun bounds the bytes that two pushes join in one run, so that a record of the spool has about that length.
const maxRun = 64 << 10

// takes reports whether n bytes of another run can be a part of r.
func (r *run) takes(other *run, n int) bool {
	return r.tag == other.tag && r.path == other.path && r.from == other.from && r.epoch == other.epoch && r.bytes+n <= maxRun
}

// memory is messages in memory, in order.
type memory struct {
	frames peer.Queue
	runs   peer.FIFO[run]
	count  int            // messages
	tags   map[string]int // runs by tag; nil if nothing asks for it
}

func (m *memory) bytes() int { return m.frames.Bytes() }

// push adds frames, which r describes.
func (m *memory) push(r run, frames []byte) {
	m.frames.Push(frames, nil)
	m.describe(r)
}

// describe adds the description of frames that were pushed.
func (m *memory) describe(r run) {
	m.count += r.count
	if m.runs.Len() > 0 {
		if last := m.runs.Back(); last.takes(&r, r.bytes) {
			last.bytes += r.bytes
			last.count += r.count
			return
		}
	}
	m.runs.Push(r)
	if m.tags != nil {
		m.tags[r.tag]++
	}
}

// front returns the oldest contiguous frames of the first run. The memory must not be empty.
func (m *memory) front() (r *run, frames []byte) {
	r = m.runs.Front()
	frames = m.frames.Front().Frames
	return r, frames[:min(len(frames), r.bytes)]
}

// cut removes n messages of size bytes from front.
func (m *memory) cut(size, n int) {
	m.frames.Cut(size)
	m.count -= n
	r := m.runs.Front()
	r.bytes -= size
	if r.count -= n; r.bytes > 0 {
		return
	}
	tag := m.runs.Pop().tag
	if m.tags == nil {
		return
	}
	if m.tags[tag]--; m.tags[tag] == 0 {
		delete(m.tags, tag)
	}
}

// moveTo appends all messages to other, and leaves m empty.
func (m *memory) moveTo(other *memory) {
	if other.bytes() == 0 {
		m.frames, other.frames = other.frames, m.frames
	}
	m.frames.Clear(func(frames []byte) { other.frames.Push(frames, nil) })
	for m.runs.Len() > 0 {
		other.describe(m.runs.Pop())
	}
	m.count = 0
}

// leading returns the leading frames that have at most limit bytes, but at least one, and their number.
func leading(frames []byte, limit int) (part []byte, count int) {
	n := native.Size(frames)
	for count = 1; n < len(frames) && n+native.Size(frames[n:]) <= limit; count++ {
		n += native.Size(frames[n:])
	}
	return frames[:n], count
}

// sizeOf returns the length of the first n frames, or of all if there are fewer, and their number.
func sizeOf(frames []byte, n int) (size, count int) {
	for count < n && size < len(frames) {
		size += native.Size(frames[size:])
		count++
	}
	return size, count
}
