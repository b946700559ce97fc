package membudget

import (
	"bytes"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"

	"example.com/ferry/internal/cgroup"
)

// statm returns the file that tells the memory of the process. It stays open, because it is read many times a second. It is
// nil if there is none.
var statm = sync.OnceValue(func() *os.File {
	f, err := os.Open("/proc/self/statm")
	if err != nil {
		return nil
	}
	return f
})

// resident returns the anonymous memory of the process: its resident pages, except those of files and shared memory.
func resident() int64 {
	f := statm()
	if f == nil {
		return 0
	}
	var b [256]byte
	n, _ := f.ReadAt(b[:], 0)
	fields := bytes.Fields(b[:n]) // size resident shared ..., in pages: proc_pid_statm(5)
	if len(fields) < 3 {
		return 0
	}
	all, err1 := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, err2 := strconv.ParseInt(string(fields[2]), 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return max(all-shared, 0) * int64(os.Getpagesize())
}

// available returns the machine's MemAvailable in bytes, or 0 if it is not known.
func available(root string) int64 {
	b, err := os.ReadFile(path.Join(root, "/proc/meminfo"))
	if err != nil {
		return 0
	}
	return parseAvailable(string(b))
}

func parseAvailable(meminfo string) int64 {
	for line := range strings.Lines(meminfo) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// groupLimit returns the smallest memory limit of the process's control groups, in bytes, or 0 if there is none.
func groupLimit(root string) int64 {
	return least(cgroup.Files(root, "memory", "memory.max", "memory.limit_in_bytes"), os.ReadFile)
}

// least returns the smallest limit in files, in bytes, or 0 if there is none. Files may be missing.
func least(files []string, read func(string) ([]byte, error)) int64 {
	smallest := int64(math.MaxInt64)
	for _, file := range files {
		b, err := read(file)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // version 2 has max for no limit
		if err == nil && n > 0 {
			smallest = min(smallest, n)
		}
	}
	if smallest > math.MaxInt64/2 { // version 1 has a huge number for no limit
		return 0
	}
	return smallest
}
