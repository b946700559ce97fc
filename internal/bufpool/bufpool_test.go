package bufpool

import "testing"

func TestSizes(t *testing.T) {
	for _, n := range []int{0, 1, 512, 513, 4096, 4097, 65536, 1 << 20, 1<<20 + 1} {
		b := Get(n)
		if cap(b.B) < n || len(b.B) != 0 {
			t.Errorf("Get(%d): len %d, cap %d", n, len(b.B), cap(b.B))
		}
		b.Release()
	}
}

// TestGrownBuffersAreNotReused: a buffer that append has moved to a larger array does not return as one of its first size.
func TestGrownBuffersAreNotReused(t *testing.T) {
	const small, rounds = 64 << 10, 100
	for range rounds {
		b := Get(small)
		b.B = append(b.B, make([]byte, 1<<20)...)
		b.Release()
	}
	for range rounds {
		if b := Get(small); cap(b.B) != small {
			t.Fatalf("Get(%d) returned a buffer of %d bytes", small, cap(b.B))
		}
	}
}

func TestLastReleaseReturns(t *testing.T) {
	b := Get(10)
	b.B = append(b.B, "hello"...)
	view := b.B
	b.Retain()
	b.Release()
	if string(view) != "hello" {
		t.Fatalf("a buffer that is still held reads %q", view)
	}
	b.Release()
	if overwriteReleased && string(view) == "hello" {
		t.Error("a released buffer was not overwritten")
	}
	defer func() {
		if recover() == nil {
			t.Error("a third Release of two references did not panic")
		}
	}()
	b.Release()
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	if overwriteReleased {
		t.Log("sync.Pool drops at random under the race detector; asserted without it")
		return
	}
	if !Reuse {
		t.Log("this build allocates every buffer")
		return
	}
	if n := testing.AllocsPerRun(100, func() { Get(5000).Release() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
