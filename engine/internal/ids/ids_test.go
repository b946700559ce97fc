package ids

import (
	"fmt"
	"testing"
	"time"
)

// TestLimit stores more IDs than may be remembered.
func TestLimit(t *testing.T) {
	k := Known{Shared: true, limit: 100 * (overhead + 6)}
	seen := func(id string, stored int64) bool {
		i := New("a", id, 0, stored)
		if k.Has(&i, time.Hour) {
			return true
		}
		k.Add(i)
		return false
	}
	for i := range 1000 {
		if id := fmt.Sprintf("%04d", i); seen(id, int64(i)) {
			t.Fatalf("ID %s was never stored", id)
		}
	}
	if len(k.known) > 101 {
		t.Errorf("%d IDs are remembered, want at most 101", len(k.known))
	}
	if !seen("0999", 1000) || seen("0000", 1000) {
		t.Error("the newest IDs must be remembered, and the oldest forgotten")
	}
	if seen("0999", 1000+int64(time.Hour)) || len(k.known) != 1 || k.bytes != overhead+6 {
		t.Errorf("after the window %d IDs of %d bytes are remembered, want the new one", len(k.known), k.bytes)
	}
}

// TestConfigure: what is known stays known when the tags begin or cease to share their IDs, or the limit changes.
func TestConfigure(t *testing.T) {
	var k Known
	k.Add(New("a", "id", 1, 1))
	for _, shared := range []bool{true, false, true} {
		k.Configure(shared, 1<<20)
		same, other := New("a", "id", 2, 2), New("b", "id", 2, 2)
		if !k.Has(&same, time.Hour) || k.Has(&other, time.Hour) != shared {
			t.Errorf("shared %v: the ID is known on its tag: %v, on another one: %v", shared, k.Has(&same, time.Hour), k.Has(&other, time.Hour))
		}
	}
	if late := New("a", "id", 3, 2+int64(time.Hour)); k.Has(&late, time.Hour) || k.bytes != 0 {
		t.Errorf("%d bytes are known after the window, want 0", k.bytes)
	}
}
