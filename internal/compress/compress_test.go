package compress_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"example.com/ferry/internal/compress"
)

var names = strings.Split(compress.Names, ",")

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	for _, name := range names {
		for _, message := range [][]byte{{}, []byte("a"), []byte(strings.Repeat("pump-1 ", 300)), noise, make([]byte, 3<<20)} {
			if !compress.Known(name) {
				t.Errorf("%s is not known", name)
			}
			data, err := compress.Append([]byte("before"), message, name)
			if err != nil || !bytes.HasPrefix(data, []byte("before")) {
				t.Fatalf("%s: %d bytes: %v", name, len(message), err)
			}
			data = data[len("before"):]
			got, err := compress.Expand([]byte("before"), data, name, len(message))
			if err != nil || string(got) != "before"+string(message) {
				t.Errorf("%s: %d bytes: got %d bytes, %v", name, len(message), len(got), err)
			}
			if len(message) > 0 {
				got, err := compress.Expand([]byte("before"), data, name, len(message)-1)
				if !errors.Is(err, compress.ErrTooLarge) || string(got) != "before" {
					t.Errorf("%s: %d bytes, one more than the limit: got %d bytes, %v", name, len(message), len(got), err)
				}
			}
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	message := []byte(strings.Repeat("pump-1 is on; ", 20))
	for _, name := range names {
		data, err := compress.Append(nil, message, name)
		if err != nil {
			t.Fatal(err)
		}
		for n := range data {
			if _, err := compress.Expand(nil, data[:n], name, 1<<20); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, cut to %d of %d bytes: got %v, want io.ErrUnexpectedEOF", name, n, len(data), err)
			}
		}
		if got, err := compress.Expand(nil, data, name, 1<<20); err != nil || !bytes.Equal(got, message) {
			t.Errorf("%s: after broken messages a good one gives %d bytes, %v", name, len(got), err)
		}
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	_, err := compress.Append(nil, nil, "snappy")
	_, err2 := compress.Expand(nil, nil, "snappy", 1)
	for _, err := range []error{err, err2} {
		if err == nil || !strings.Contains(err.Error(), `"snappy"`) || !strings.Contains(err.Error(), compress.Names) {
			t.Errorf("got %v", err)
		}
	}
	if compress.Known("snappy") || compress.Known("") {
		t.Error("snappy is known")
	}
}

// TestBomb expands a small message that would become 32 MiB.
func TestBomb(t *testing.T) {
	for _, name := range names {
		data, err := compress.Append(nil, make([]byte, 32<<20), name)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = compress.Expand(nil, data, name, 1<<20)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, compress.ErrTooLarge) {
			t.Errorf("%s: got %v", name, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 24<<20 {
			t.Errorf("%s: refusing the message allocated %d bytes", name, grown)
		}
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			name := names[i%len(names)]
			message := bytes.Repeat([]byte{byte(i)}, 1000*i)
			for range 50 {
				data, err := compress.Append(nil, message, name)
				if err != nil {
					t.Error(err)
				}
				if got, err := compress.Expand(nil, data, name, 1<<20); err != nil || !bytes.Equal(got, message) {
					t.Errorf("%s: got %d bytes, %v", name, len(got), err)
				}
			}
		})
	}
	all.Wait()
}

func FuzzExpand(f *testing.F) {
	for i, name := range names {
		data, _ := compress.Append(nil, []byte("a message, a message"), name)
		f.Add(data, i)
	}
	f.Fuzz(func(t *testing.T, data []byte, which int) {
		const limit = 1 << 16
		name := names[uint(which)%uint(len(names))]
		got, err := compress.Expand(nil, data, name, limit)
		if len(got) > limit || err != nil && got != nil {
			t.Errorf("%s: got %d bytes, %v", name, len(got), err)
		}
	})
}

func BenchmarkZstd(b *testing.B) { benchmark(b, compress.Zstd) }
func BenchmarkGzip(b *testing.B) { benchmark(b, compress.Gzip) }

func benchmark(b *testing.B, name string) {
	message := []byte(strings.Repeat(`{"device":"pump-1","value":20.5},`, 128))
	var data, back []byte
	b.SetBytes(int64(len(message)))
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if data, err = compress.Append(data[:0], message, name); err != nil {
			b.Fatal(err)
		}
		if back, err = compress.Expand(back[:0], data, name, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}
