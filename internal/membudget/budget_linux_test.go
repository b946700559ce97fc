package membudget

import (
	"errors"
	"runtime"
	"testing"

	"example.com/ferry/internal/cgroup"
)

func TestFindGroupLimit(t *testing.T) {
	for _, row := range []struct {
		name, groups string
		files        map[string]string
		want         int64
	}{
		{"version 2", "0::/a/b\n", map[string]string{"/cg/a/b/memory.max": "1000\n"}, 1000},
		{"version 2, a group above", "0::/a/b\n", map[string]string{"/cg/a/b/memory.max": "1000\n", "/cg/a/memory.max": "500\n"}, 500},
		{"version 2, no limit", "0::/a\n", map[string]string{"/cg/a/memory.max": "max\n"}, 0},
		{"version 2, in a container", "0::/outside\n", map[string]string{"/cg/memory.max": "700\n"}, 700},
		{"version 2, above the container", "0::/../x\n", map[string]string{"/cg/x/memory.max": "700\n"}, 700},
		{"version 1", "5:cpu,memory:/a\n3:pids:/a\n", map[string]string{"/cg/memory/a/memory.limit_in_bytes": "900\n", "/cg/a/memory.max": "1"}, 900},
		{"version 1, no limit", "5:memory:/\n", map[string]string{"/cg/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		{"both", "1:memory:/a\n0::/a\n", map[string]string{"/cg/memory/a/memory.limit_in_bytes": "900\n", "/cg/a/memory.max": "800"}, 800},
		{"other text", "what\n\n0::\n", map[string]string{"/cg/memory.max": "-5"}, 0},
		{"nothing", "", nil, 0},
	} {
		files := cgroup.Below("/cg", row.groups, "memory", "memory.max", "memory.limit_in_bytes")
		got := least(files, func(file string) ([]byte, error) {
			if text, ok := row.files[file]; ok {
				return []byte(text), nil
			}
			return nil, errors.New("no such file")
		})
		if got != row.want {
			t.Errorf("%s: %d, want %d", row.name, got, row.want)
		}
	}
}

func TestParseAvailable(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal:       100 kB\nMemAvailable:    24 kB\n": 24 << 10, "MemTotal: 1 kB\n": 0, "MemAvailable: x kB\n": 0, "": 0,
	} {
		if got := parseAvailable(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestUsed: the memory grows with what the process touches.
func TestUsed(t *testing.T) {
	before := Used()
	b := make([]byte, 64<<20)
	for i := range b {
		b[i] = 1
	}
	if grown := Used() - before; before <= 0 || grown < 50<<20 || grown > 200<<20 {
		t.Errorf("%d bytes before, %d more after 64 MiB were used", before, grown)
	}
	runtime.KeepAlive(b)
	if budget, source := Find(); budget < before || source == "" {
		t.Errorf("budget %d from %q, with %d in use", budget, source, before)
	}
}
