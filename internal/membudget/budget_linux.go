package membudget

import (
	"bytes"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
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
func available() int64 {
	b, err := os.ReadFile("/proc/meminfo")
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
func groupLimit() int64 {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	return findGroupLimit("/sys/fs/cgroup", string(b), os.ReadFile)
}

// findGroupLimit is groupLimit for the text of /proc/self/cgroup: lines of hierarchy:controllers:path, see cgroups(7). In a
// container the path may not exist below root, because the container sees its own group as the root.
func findGroupLimit(root, groups string, read func(string) ([]byte, error)) int64 {
	least := int64(math.MaxInt64)
	consider := func(file string) {
		b, err := read(file)
		if err != nil {
			return
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // version 2 has max for no limit
		if err == nil && n > 0 {
			least = min(least, n)
		}
	}
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		dir, file := root, "memory.max"
		switch {
		case parts[1] == "": // version 2
		case strings.Contains(","+parts[1]+",", ",memory,"):
			dir, file = path.Join(root, "memory"), "memory.limit_in_bytes"
		default:
			continue
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) { // limits of all groups above hold too
			consider(path.Join(dir, group, file))
			if group == "/" {
				break
			}
		}
	}
	if least > math.MaxInt64/2 { // version 1 has a huge number for no limit
		return 0
	}
	return least
}
