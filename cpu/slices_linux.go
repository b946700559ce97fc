package cpu

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// setSlices gives every thread of the process a time slice of d: sched_setattr(2), sched_runtime of a SCHED_OTHER thread,
// Linux 6.12. A new thread inherits the slice from the thread that creates it. So setSlices lists the threads until it finds
// no new one. Zero means the kernel's default.
func setSlices(d time.Duration) error {
	seen := make(map[int]bool)
	for {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("cpu: kernel slices: list threads: %w", err)
		}
		before := len(seen)
		for _, task := range tasks {
			tid, err := strconv.Atoi(task.Name())
			if err != nil || seen[tid] {
				continue
			}
			seen[tid] = true
			if err := setSlice(tid, d); err != nil && !errors.Is(err, unix.ESRCH) { // ESRCH: the thread has ended
				return fmt.Errorf("cpu: kernel slices: thread %d: %w", tid, err)
			}
		}
		if len(seen) == before {
			return nil
		}
	}
}

func setSlice(tid int, d time.Duration) error {
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		return err
	}
	if attr.Policy != unix.SCHED_NORMAL && attr.Policy != unix.SCHED_BATCH {
		return nil // another scheduling policy is set, which has no slice or gives it another meaning
	}
	attr.Runtime = uint64(d)
	if err := unix.SchedSetAttr(tid, attr, 0); err != nil {
		return err
	}
	if attr, err = unix.SchedGetAttr(tid, 0); err != nil {
		return err
	}
	if d > 0 && attr.Runtime != uint64(d) {
		return errors.New("the kernel ignores sched_runtime: Linux 6.12 is the first that does not")
	}
	return nil
}
