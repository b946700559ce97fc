package openloop

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Realtime puts this process's threads before all others; false if that is not permitted. All of them, as the one that
// does the work may have to wait for one of the runtime's: their own work is next to nothing.
func Realtime() bool {
	set := make(map[int]bool)
	for {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return false
		}
		before := len(set)
		for _, t := range threads {
			tid, err := strconv.Atoi(t.Name())
			if err != nil || set[tid] {
				continue
			}
			attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 50}
			if unix.SchedSetAttr(tid, &attr, 0) != nil {
				return false
			}
			set[tid] = true
		}
		if len(set) == before { // what has been started since inherits it
			return true
		}
	}
}
