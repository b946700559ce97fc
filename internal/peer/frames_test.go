package peer

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

func frame(size int, fill byte) []byte {
	return native.AppendPub(nil, native.PubHeader{Tag: 1}, bytes.Repeat([]byte{fill}, size-native.PubHeaderSize))
}

// TestFrameReader: the same frames are returned however the stream is cut into reads. Large frames have a buffer of
// their own.
func TestFrameReader(t *testing.T) {
	var wire []byte
	var sizes []int
	for i, n := range []int{24, 100, 5000, largeFrame - 1, largeFrame, largeFrame + 1, 24, 300 << 10, 200 << 10, 30, 100 << 10} {
		wire = append(wire, frame(n, byte(i))...)
		sizes = append(sizes, n)
	}
	for range 2000 {
		wire = append(wire, frame(100, 9)...)
		sizes = append(sizes, 100)
	}
	for _, c := range []struct {
		name string
		r    io.Reader
	}{
		{"all at once", bytes.NewReader(wire)},
		{"byte by byte", iotest.OneByteReader(bytes.NewReader(wire))},
		{"half of what is asked for", iotest.HalfReader(bytes.NewReader(wire))},
		{"the end with the last bytes", iotest.DataErrReader(bytes.NewReader(wire))},
	} {
		in := NewFrameReader(c.r, 1<<20)
		var got []byte
		n := 0
		for {
			frames, own, err := in.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: %v", c.name, err)
				}
				break
			}
			for at := 0; at < len(frames); n++ {
				size := native.Size(frames[at:])
				if n >= len(sizes) || size != sizes[n] || (own != nil) != (size >= largeFrame) {
					t.Fatalf("%s: frame %d has %d bytes (own memory: %v)", c.name, n, size, own != nil)
				}
				at += size
			}
			got = append(got, frames...)
		}
		in.Close()
		if !bytes.Equal(got, wire) {
			t.Errorf("%s: %d bytes came out, not the %d that went in", c.name, len(got), len(wire))
		}
	}
}

// TestFrameReaderCut: if a stream ends within a frame, the reader returns the whole frames and then
// io.ErrUnexpectedEOF.
func TestFrameReaderCut(t *testing.T) {
	whole := frame(100, 1)
	for _, half := range [][]byte{frame(90, 2), frame(40<<10, 3)} {
		for _, n := range []int{1, 3, 4, 7, 8, 9, 23, 24, 60, len(half) - 1} {
			in := NewFrameReader(bytes.NewReader(append(append([]byte(nil), whole...), half[:n]...)), 1<<20)
			frames, _, err := in.Next()
			if err != nil || !bytes.Equal(frames, whole) {
				t.Fatalf("cut at %d: the whole frame: %d bytes, %v", n, len(frames), err)
			}
			if _, _, err = in.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("cut at %d of %d: %v", n, len(half), err)
			}
			in.Close()
		}
	}
}

func TestFrameReaderRefusesAtOnce(t *testing.T) {
	in := NewFrameReader(io.MultiReader(bytes.NewReader([]byte{0x7f, 0xff, 0xff, 0xff}), neverReader{t}), 1000)
	defer in.Close()
	var e *native.Error
	if _, _, err := in.Next(); !errors.As(err, &e) || e.Code != native.CodeTooLarge {
		t.Errorf("got %v", err)
	}
}

type neverReader struct{ t *testing.T }

func (r neverReader) Read([]byte) (int, error) {
	r.t.Error("read on behind a length above the limit")
	return 0, io.EOF
}

// TestFrameWriter: many producers append copied and shared frames. The order of each producer is preserved, and no
// frame is lost.
func TestFrameWriter(t *testing.T) {
	o := NewFrameWriter(100 << 10)
	r, w := io.Pipe()
	ran := make(chan error, 1)
	go func() { ran <- o.Run(w) }()
	const producers, each = 4, 500
	var wg sync.WaitGroup
	for p := range producers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range each {
				size := 24 + rand.IntN(3000)
				if i%50 == 0 {
					size = largeFrame + rand.IntN(100)
				}
				f := native.AppendPub(nil, native.PubHeader{Tag: uint32(p), Time: int64(i)}, make([]byte, size))
				o.Lock()
				for o.Room() <= 0 {
					room := o.WaitRoom()
					o.Unlock()
					<-room
					o.Lock()
				}
				if i%2 == 0 {
					buf := bufpool.Get(len(f))
					buf.B = append(buf.B, f...)
					o.Share(buf, buf.B)
					buf.Release()
				} else {
					o.Append(f)
				}
				o.Unlock()
			}
		}()
	}
	go func() {
		wg.Wait()
		o.Close()
		<-o.Done()
		_ = w.Close()
	}()
	in := NewFrameReader(r, 1<<20)
	defer in.Close()
	var next [producers]int64
	for {
		frames, _, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for len(frames) > 0 {
			f := native.Frame(frames[:native.Size(frames)])
			if f.Time() != next[f.Tag()] {
				t.Fatalf("producer %d: frame %d, want %d", f.Tag(), f.Time(), next[f.Tag()])
			}
			next[f.Tag()]++
			frames = frames[len(f):]
		}
	}
	for p, n := range next {
		if n != each {
			t.Errorf("producer %d: %d frames of %d", p, n, each)
		}
	}
	if err := <-ran; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// TestFrameWriterKeepsUnsentFrames: after a failed write, TakeUnsent returns the frames that were appended later.
func TestFrameWriterKeepsUnsentFrames(t *testing.T) {
	o := NewFrameWriter(1 << 20)
	broken := errors.New("broken")
	release := make(chan struct{})
	go func() {
		_ = o.Run(writerFunc(func(p []byte) (int, error) {
			<-release
			return 0, broken
		}))
	}()
	o.Lock()
	o.Append(frame(30, 1))
	o.Unlock()
	for o.Blocked(time.Now().Add(time.Second)) == 0 {
		time.Sleep(time.Millisecond)
	}
	o.Lock()
	o.Append(frame(40, 2))
	o.Unlock()
	close(release)
	<-o.Done()
	var left []byte
	o.TakeUnsent(func(frames []byte) { left = append(left, frames...) })
	if !bytes.Equal(left, frame(40, 2)) {
		t.Errorf("%d bytes are left, want the 40 of the second frame", len(left))
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestQueue(t *testing.T) {
	var q Queue
	buf := bufpool.Get(20 << 10)
	buf.B = append(buf.B, frame(20<<10, 7)...)
	var want []byte
	for i := range 200 {
		f := frame(24+i, byte(i))
		q.Push(f, nil)
		want = append(want, f...)
		if i%20 == 0 {
			q.Push(buf.B, buf)
			want = append(want, buf.B...)
		}
	}
	if q.Bytes() != len(want) || q.Count() != 210 {
		t.Errorf("%d bytes in %d frames, want %d in 210", q.Bytes(), q.Count(), len(want))
	}
	var got []byte
	for range 50 {
		p := q.Front()
		n := native.Size(p.Frames)
		got = append(got, p.Frames[:n]...)
		q.Cut(n)
	}
	q.Clear(func(frames []byte) { got = append(got, frames...) })
	if !bytes.Equal(got, want) || q.Bytes() != 0 {
		t.Errorf("%d bytes came out, not the %d that went in; %d are left", len(got), len(want), q.Bytes())
	}
	buf.Release() // panics if the buffer was released too often
}

func TestFIFO(t *testing.T) {
	var q FIFO[int]
	next, want := 0, 0
	for range 10000 {
		if rand.IntN(2) == 0 || q.Len() == 0 {
			q.Push(next)
			next++
			continue
		}
		if *q.Front() != want || *q.Back() != next-1 || len(q.All()) != q.Len() || q.Pop() != want {
			t.Fatalf("item %d is out of order", want)
		}
		want++
	}
	if cap(q.items) > 4096 {
		t.Errorf("%d places for %d items", cap(q.items), q.Len())
	}
}

// TestFlush: producers that write directly and the writing goroutine share a socket. The socket's reader is slow at
// times.
func TestFlush(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	o := NewFrameWriter(1 << 20)
	go func() {
		_ = o.Run(near)
		_ = near.Close()
	}()
	const producers, each = 3, 3000
	var wg sync.WaitGroup
	for p := range producers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range each {
				f := native.AppendPub(nil, native.PubHeader{Tag: uint32(p), Time: int64(i)}, make([]byte, rand.IntN(4000)))
				o.Lock()
				for o.Room() <= 0 {
					room := o.WaitRoom()
					o.Unlock()
					<-room
					o.Lock()
				}
				o.Append(f)
				switch i % 3 {
				case 0:
					o.UnlockFlush(time.Microsecond)
				case 1:
					o.UnlockLater()
					o.Flush()
				default:
					o.Unlock()
				}
			}
		}()
	}
	go func() {
		wg.Wait()
		o.Close()
	}()
	in := NewFrameReader(far, 1<<20)
	defer in.Close()
	var next [producers]int64
	for batches := 0; ; batches++ {
		frames, _, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if batches%50 == 0 {
			time.Sleep(2 * time.Millisecond) // the socket fills
		}
		for len(frames) > 0 {
			f := native.Frame(frames[:native.Size(frames)])
			if f.Time() != next[f.Tag()] {
				t.Fatalf("producer %d: frame %d, want %d", f.Tag(), f.Time(), next[f.Tag()])
			}
			next[f.Tag()]++
			frames = frames[len(f):]
		}
	}
	for p, n := range next {
		if n != each {
			t.Errorf("producer %d: %d frames of %d", p, n, each)
		}
	}
}

// TestLendsBuffers: with lend, many small frames come with the buffer that holds them. Kept frames stay as they are while the reader goes on.
func TestLendsBuffers(t *testing.T) {
	var wire []byte
	for i := range 20_000 {
		wire = native.AppendPub(wire, native.PubHeader{Tag: uint32(i)}, make([]byte, i%100))
	}
	wire = native.AppendPub(wire, native.PubHeader{Tag: 20_000}, make([]byte, 2*largeFrame))
	r := NewFrameReader(bytes.NewReader(wire), 1<<20)
	r.lend = true
	defer r.Close()
	var q Queue
	lent := 0
	for {
		frames, shared, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if shared != nil {
			lent++
		}
		q.Push(frames, shared)
	}
	if lent < 10 {
		t.Errorf("%d buffers were lent, want at least 10", lent)
	}
	var got []byte
	q.Clear(func(frames []byte) { got = append(got, frames...) })
	if !bytes.Equal(got, wire) {
		t.Error("the kept frames differ from what was read")
	}
}

// TestPiecesCount: a Queue knows the number of frames of a piece if each Push has said it and nothing was cut off.
func TestPiecesCount(t *testing.T) {
	f := native.AppendPub(nil, native.PubHeader{}, []byte("x"))
	two := append(bytes.Clone(f), f...)
	var q Queue
	check := func(what string, want int) {
		t.Helper()
		if got := q.Front().Count; got != want {
			t.Errorf("%s: got %d, want %d", what, got, want)
		}
	}
	q.PushCounted(two, 2, nil)
	q.PushCounted(f, 1, nil)
	check("three frames", 3)
	q.Cut(len(f))
	check("after a cut", 0)
	q.PushCounted(f, 1, nil)
	check("after a cut and a push", 0)
	q.Clear(func([]byte) {})
	q.Push(f, nil)
	q.PushCounted(f, 1, nil)
	check("one of two is not counted", 0)
}

// TestFullQueueIsRefilled: a producer that has filled the queue does not write it itself, because only the writing goroutine calls Refill.
func TestFullQueueIsRefilled(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	w := NewFrameWriter(32 << 10)
	refilled := make(chan struct{}, 1)
	full := false
	w.Refill = func() func() {
		if full && w.Room() > 0 {
			full = false
			refilled <- struct{}{}
		}
		return nil
	}
	go func() { _ = w.Run(conn) }()
	defer conn.Close()
	defer w.Close()
	for ready := false; !ready; {
		w.Lock()
		if ready = w.asleep; !ready {
			w.mu.Unlock()
			time.Sleep(time.Millisecond)
		}
	}
	for range 40 {
		w.Append(frame(1<<10, 1))
	}
	full = true
	w.UnlockFlush(0)
	select {
	case <-refilled:
	case <-time.After(time.Minute):
		t.Fatal("Refill was not called after the queue was full")
	}
}
