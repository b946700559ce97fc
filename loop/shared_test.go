package loop

import (
	"bytes"
	"io"
	"testing"

	"example.com/ferry/internal/bufpool"
)

// TestSharedBuffers: shared bytes and copied bytes leave in order, and each buffer is released once its bytes are written. A
// race build overwrites a buffer at its last release, so a buffer that is released early changes what the peer reads.
func TestSharedBuffers(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		pieces := []int{9, 16 << 10, 9, 100, 5000, 9, leastShare, leastShare - 1, 40 << 10, 3 << 20}
		var want []byte
		for i, n := range pieces {
			want = append(want, noise(uint64(i+1), n)...)
		}
		to := listen(t, g, accept(func() *script {
			return &script{opened: func(c *Conn) {
				for i, n := range pieces {
					p := noise(uint64(i+1), n)
					if i%2 == 0 {
						c.Write(p)
						continue
					}
					b := bufpool.Get(n + 10)
					b.B = append(append(b.B, "before "...), p...)
					c.WriteShared(b, b.B[len("before "):])
					b.Release()
				}
				c.Close()
			}}
		}))
		got, err := io.ReadAll(connect(t, to))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("read %d bytes of %d, or others: %v", len(got), len(want), err)
		}
		eventually(t, "no buffer in use", func() bool {
			sum, _ := g.Stats()
			return sum.Queues == 0 && sum.Conns == 0
		})
	})
}

// TestLimitQueue: the watermarks of a connection with a limited queue are a quarter of the configured ones.
func TestLimitQueue(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops, cfg.HighWater = 1, 64<<10
		g := start(t, cfg)
		drained := make(chan int, 1)
		opened := make(chan *Conn, 1)
		to := listen(t, g, accept(func() *script {
			return &script{opened: func(c *Conn) { opened <- c }, drained: func(c *Conn) { drained <- c.Queued() }}
		}))
		conn := connect(t, to)
		c := wait(t, "a connection", opened)
		full := on(t, c, func() [3]bool {
			c.Write(make([]byte, 20<<10))
			before := c.Full()
			c.LimitQueue()
			c.Write(make([]byte, 1))
			return [3]bool{before, c.Full(), c.Queued() == 20<<10+1}
		})
		if full != [3]bool{false, true, true} {
			t.Fatalf("full before LimitQueue, full after it, all is queued: %v", full)
		}
		if _, err := io.ReadFull(conn, make([]byte, 20<<10+1)); err != nil {
			t.Fatal(err)
		}
		if left := wait(t, "Drained", drained); left > 4<<10 {
			t.Errorf("Drained is called with %d bytes queued, want at most %d", left, 4<<10)
		}
	})
}

func TestWriteSharedAllocatesNothing(t *testing.T) {
	var free freeChunks
	var q chunkQueue
	b := bufpool.Get(leastShare)
	defer b.Release()
	p := b.B[:leastShare]
	if n := testing.AllocsPerRun(100, func() {
		q.appendShared(&free, b, p)
		q.append(&free, p[:9], smallChunk)
		q.consume(&free, len(p)+9)
	}); n > 0 && bufpool.Reuse {
		t.Errorf("%v allocations", n)
	}
}

// TestChunks: the first chunk of a queue fits what is written first, and the chunks grow.
func TestChunks(t *testing.T) {
	for _, row := range []struct {
		first  chunkClass
		writes []int
		want   int // memory in bytes
	}{
		{tinyChunk, []int{300, 700}, 1 << 10},
		{tinyChunk, []int{300, 1024}, 1<<10 + 4<<10},
		{tinyChunk, []int{300, 1024, 4 << 10}, 1<<10 + 4<<10 + 16<<10},
		{tinyChunk, []int{1025}, 4 << 10},
		{tinyChunk, []int{300, 6000}, 1<<10 + 16<<10},
		{smallChunk, []int{300}, 4 << 10},
		{smallChunk, []int{4 << 10, 1}, 4<<10 + 16<<10},
		{smallChunk, []int{5000}, 16 << 10},
	} {
		var free freeChunks
		var q chunkQueue
		for _, n := range row.writes {
			q.append(&free, make([]byte, n), row.first)
		}
		if free.bytes != row.want {
			t.Errorf("%v, first chunk of %d bytes: %d bytes of memory, want %d", row.writes, chunkBytes[row.first], free.bytes, row.want)
		}
		size := q.size
		q.consume(&free, size)
		if free.bytes != 0 || free.inUse != 0 || q.tail != nil {
			t.Errorf("%v: %d chunks of %d bytes are left", row.writes, free.inUse, free.bytes)
		}
	}
}
