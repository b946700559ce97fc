package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// openForWriting returns which of the files a process has open for writing now, as far as this user may see that. proc_pid_fd(5), proc_pid_fdinfo(5).
func openForWriting(files []string) map[string]bool {
	open := map[string]bool{}
	wanted := map[string]bool{}
	for _, f := range files {
		wanted[f] = true
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is right
	for _, fd := range fds {
		file, err := os.Readlink(fd)
		if err != nil || !wanted[file] {
			continue
		}
		info, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(fd)), "fdinfo", filepath.Base(fd)))
		_, rest, _ := bytes.Cut(info, []byte("flags:"))
		flags, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte("\n"))
		n, wrong := strconv.ParseUint(string(flags), 8, 64)
		if err == nil && wrong == nil && n&syscall.O_ACCMODE != syscall.O_RDONLY {
			open[file] = true
		}
	}
	return open
}
