package startmemory

import (
	"bufio"
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Release collects the garbage of the start, and unmaps the pages of the program that the start has used: its code and constants come back from
// the page cache as they are needed. It does what it can: there is no error.
func Release() {
	debug.FreeOSMemory()
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range unchanged(maps, exe) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ start, end uintptr }

// unchanged returns the mappings of a file, of the text of /proc/self/smaps, that nothing can write to and nothing has written to. A relocation or a
// debugger writes to pages that are protected later: these would lose what was written.
func unchanged(smaps []byte, file string) (all []mapping) {
	var at mapping
	candidate := false
	for lines := bufio.NewScanner(bytes.NewReader(smaps)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		switch {
		case len(f) >= 2 && f[0] == "Anonymous:" && candidate:
			if f[1] == "0" {
				all = append(all, at)
			}
			candidate = false
		case len(f) >= 6 && strings.Contains(f[0], "-"):
			start, end, _ := strings.Cut(f[0], "-")
			from, err1 := strconv.ParseUint(start, 16, strconv.IntSize)
			to, err2 := strconv.ParseUint(end, 16, strconv.IntSize)
			at = mapping{uintptr(from), uintptr(to)}
			candidate = err1 == nil && err2 == nil && len(f) == 6 && f[5] == file && strings.HasPrefix(f[1], "r-") && strings.HasSuffix(f[1], "p")
		}
	}
	return all
}
