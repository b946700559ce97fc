package openloop

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Realtime moves all threads of this process to the class SCHED_FIFO, and returns false if that is not permitted. The
// class includes the threads of the Go runtime, because the generator's thread may have to wait for one of them.
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
		if len(set) == before { // threads started since then inherit it
			return true
		}
	}
}
