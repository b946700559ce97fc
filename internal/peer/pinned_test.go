package peer

import (
	"testing"

	"example.com/ferry/internal/bufpool"
)

// pinned returns how many bytes of memory the buffers use. Each buffer is counted once.
func pinned(bufs ...*bufpool.Buf) (n int) {
	seen := map[*bufpool.Buf]bool{}
	for _, b := range bufs {
		if b != nil && !seen[b] {
			seen[b] = true
			n += cap(b.B)
		}
	}
	return n
}

func (q *Queue) bufs() (bufs []*bufpool.Buf) {
	for _, p := range q.pieces.All() {
		bufs = append(bufs, p.Buf)
	}
	return bufs
}

func (o *FrameWriter) bufs() []*bufpool.Buf {
	bufs := []*bufpool.Buf{o.tail}
	for _, s := range o.segments {
		bufs = append(bufs, s.buf)
	}
	return bufs
}

// patterns lists sequences of frames for a queue: the sizes of the frames, and the size of the shared buffer that holds
// each frame (0 means none).
var patterns = []struct {
	name         string
	sizes        []int
	sharedBuffer []int
}{
	{"small frames", []int{100}, []int{0}},
	{"frames of 4 KiB out of runs of 256 KiB", []int{4 << 10}, []int{256 << 10}},
	{"frames of 16 KiB in their own buffers", []int{16 << 10}, []int{16 << 10}},
	{"frames just above a size class", []int{16<<10 + 1}, []int{16<<10 + 1}},
	{"large shared and tiny copied frames in turn", []int{16 << 10, 24}, []int{16 << 10, 0}},
	{"frames that do not fit twice into a block", []int{33 << 10}, []int{0}},
}

// TestQueuePinsWhatItCounts: a queue uses at most twice the memory that Bytes counts, plus one block.
func TestQueuePinsWhatItCounts(t *testing.T) {
	for _, c := range patterns {
		t.Run(c.name, func(t *testing.T) {
			var q Queue
			for i := 0; q.Bytes() < 1<<20; i++ {
				f, size := frame(c.sizes[i%len(c.sizes)], 1), c.sharedBuffer[i%len(c.sizes)]
				if size == 0 {
					q.Push(f, nil)
				} else {
					own := bufpool.Get(size)
					own.B = append(own.B, f...)
					q.Push(own.B, own)
					own.Release()
				}
				if n := pinned(q.bufs()...); n > 2*q.Bytes()+blockSize {
					t.Fatalf("%d bytes are pinned by a queue of %d", n, q.Bytes())
				}
			}
			q.Clear(func([]byte) {})
			if n := pinned(q.bufs()...); n != 0 {
				t.Errorf("an empty queue pins %d bytes", n)
			}
		})
	}
}

// TestFrameWriterPinsWhatItCounts: a FrameWriter uses at most twice the memory of the waiting frames, plus one block.
func TestFrameWriterPinsWhatItCounts(t *testing.T) {
	for _, c := range patterns {
		t.Run(c.name, func(t *testing.T) {
			o := NewFrameWriter(256 << 10)
			o.Lock()
			defer o.Unlock()
			for i := 0; o.Room() > 0; i++ {
				f, size := frame(c.sizes[i%len(c.sizes)], 1), c.sharedBuffer[i%len(c.sizes)]
				if size == 0 {
					o.Append(f)
				} else {
					own := bufpool.Get(size)
					own.B = append(own.B, f...)
					o.Share(own, own.B)
					own.Release()
				}
				if n := pinned(o.bufs()...); n > 2*(256<<10-o.Room())+blockSize {
					t.Fatalf("%d bytes are pinned by %d that wait for a write", n, 256<<10-o.Room())
				}
			}
			o.Discard()
		})
	}
}
