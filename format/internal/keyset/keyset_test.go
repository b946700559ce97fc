package keyset

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"testing"
)

func TestHash(t *testing.T) {
	seen := map[uint64]string{}
	for n := range 40 {
		for i := range n + 1 {
			name := bytes.Repeat([]byte("x"), n)
			if i < n {
				name[i] = 'y'
			}
			h, ascii := Hash(name, false)
			if other, ok := seen[h]; ok {
				t.Errorf("%q and %q have one hash", other, name)
			}
			if seen[h] = string(name); !ascii {
				t.Errorf("%q: not taken for ASCII", name)
			}
			if i < n {
				name[i] = 0x80
				if _, ascii := Hash(name, false); ascii {
					t.Errorf("% x: taken for ASCII", name)
				}
			}
		}
	}
}

func TestFoldASCIICase(t *testing.T) {
	for c := range 256 {
		for d := range 256 {
			a, b := []byte{'-', byte(c)}, []byte{'-', byte(d)}
			want := strings.EqualFold(string(rune(c)), string(rune(d))) && c < 128 && d < 128 || c == d
			x, _ := Hash(a, true)
			y, _ := Hash(b, true)
			if EqualFold(a, b) != want || (x == y) != want {
				t.Errorf("%q and %q: EqualFold %v, one hash %v, want %v", a, b, EqualFold(a, b), x == y, want)
			}
		}
	}
	if EqualFold([]byte("a"), []byte("ab")) {
		t.Error("a folds to ab")
	}
}

func TestHashOfIntegers(t *testing.T) {
	if Int(5, false) == Int(5, true) || Int(5, false) == Int(6, false) {
		t.Error("two integers have one hash")
	}
}

// names yields all keys. If values is not 0, it limits the number of different hashes, so that keys collide in the
// table.
func names(keys []string, values uint64) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		for i, k := range keys {
			h, _ := Hash([]byte(k), false)
			if values > 0 {
				h %= values
			}
			if !yield(i, h) {
				return
			}
		}
	}
}

func TestDuplicate(t *testing.T) {
	for _, n := range []int{1, 65, 129, 1000, 20000} {
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprint(i))
		}
		same := func(a, b int) bool { return keys[a] == keys[b] }
		for _, size := range []int{n, 10 * n, 1000 * n} {
			if got := Duplicate(n, size, names(keys, 0), same); got != -1 {
				t.Errorf("%d keys in %d bytes: key %d is said to stand twice", n, size, got)
			}
		}
		keys = append(keys, keys[n/2])
		if got := Duplicate(n+1, n, names(keys, 0), same); got != n {
			t.Errorf("%d keys: got %d, want %d", n+1, got, n)
		}
	}
}

func TestDuplicateOneHash(t *testing.T) {
	keys := []string{"a", "b", "c", "b"}
	same := func(a, b int) bool { return keys[a] == keys[b] }
	if got := Duplicate(len(keys), 100, names(keys, 1), same); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}

func TestNestedMaps(t *testing.T) {
	var s Stack
	add := func(m *Map, name string) {
		h, _ := Hash([]byte(name), false)
		m.Add(&s, h)
	}
	outer := s.Open()
	add(&outer, "a")
	add(&outer, "b")
	inner := s.Open()
	add(&inner, "a")
	if !s.Close(&inner) {
		t.Error("a key of the outer map counts in the inner one")
	}
	add(&outer, "c")
	if twin := outer; !s.Close(&twin) {
		t.Error("three keys are not told apart")
	}
	s.n = 3
	add(&outer, "a")
	if s.Close(&outer) {
		t.Error("the outer map forgot its keys")
	}
}

// TestManyKeys opens maps of various sizes in one another. Only maps with a key twice may need Duplicate.
func TestManyKeys(t *testing.T) {
	for _, sizes := range [][]int{{65}, {1000}, {64, 1}, {64, 200}, {10, 60, 70, 3}, {63, 2, 2}, {100, 100, 100}} {
		for twice := -1; twice < len(sizes); twice++ {
			var s Stack
			var maps []Map
			add := func(n int) {
				h, _ := Hash([]byte{byte(n), byte(n >> 8)}, false)
				maps[len(maps)-1].Add(&s, h)
			}
			for level, size := range sizes {
				maps = append(maps, s.Open())
				for n := range size {
					add(n)
				}
				if level == twice {
					add(size / 2)
				}
			}
			for level := len(sizes) - 1; level >= 0; level-- {
				m := maps[level]
				maps = maps[:level+1]
				small := s.Open()
				if small.Add(&s, 1); !s.Close(&small) {
					t.Errorf("%v: a map of one key is undecided", sizes)
				}
				add(5000)
				m = maps[level]
				if s.Close(&m) == (level == twice) {
					t.Errorf("%v: level %d, a key twice in level %d: got the other result", sizes, level, twice)
				}
			}
			if s.n != 0 || s.heap != nil {
				t.Errorf("%v: %d keys are left, and a heap of %v", sizes, s.n, s.heap)
			}
		}
	}
}

func TestDistinct(t *testing.T) {
	for _, n := range []int{0, 1, 24, 25, 300, 70000} {
		var hashes []uint64
		for i := range n {
			h, _ := Hash(fmt.Append(nil, i), false)
			hashes = append(hashes, h|wholeHash)
		}
		if !distinct(hashes, 32) {
			t.Errorf("%d hashes: two are said to be equal", n)
		}
		if n > 0 && distinct(append(hashes, hashes[n/2]), 32) {
			t.Errorf("%d hashes: one occurs twice, and is not found", n)
		}
	}
	if distinct(make([]uint64, 1000), 32) {
		t.Error("1000 equal hashes are said to be different")
	}
	if distinct([]uint64{7, 7 | wholeHash}, 32) || !distinct([]uint64{7 | wholeHash, 7 | wholeHash | 1<<40}, 32) {
		t.Error("half a hash is equal to a whole one with the same half, and two whole ones are equal only if both halves are")
	}
}
