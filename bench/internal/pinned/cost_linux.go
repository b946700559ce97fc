package pinned

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Memory is what a process and those it started hold, in bytes.
type Memory struct {
	RSS  int64 // resident
	Anon int64 // resident and the process's own: neither mapped from a file nor shared
	Peak int64 // the most that was ever resident
}

// CPU is how long the process and those it started have been on a core.
func (p *Process) CPU() (time.Duration, error) { return CPU(p.Family()) }

// Memory is what the process and those it started hold now.
func (p *Process) Memory() (Memory, error) {
	var m Memory
	err := p.status(func(key string, n int64) {
		switch key {
		case "VmRSS":
			m.RSS += n << 10 // kB, proc_pid_status(5)
		case "RssAnon":
			m.Anon += n << 10
		case "VmHWM":
			m.Peak += n << 10
		}
	})
	return m, err
}

// Threads is how many threads the process and those it started have.
func (p *Process) Threads() (int, error) {
	count := 0
	err := p.status(func(key string, n int64) {
		if key == "Threads" {
			count += int(n)
		}
	})
	return count, err
}

// Family is the process's number and those of the ones it has started that have not ended.
func (p *Process) Family() []int { return Family(p.PID()) }

// Family is pid and the processes that it has started and that have not ended, and so on. One that listens may be about to start
// those that do the work: ask when it is at work.
func Family(pid int) []int {
	family := []int{pid}
	for i := 0; i < len(family); i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", family[i]))
		for _, name := range lists {
			text, err := os.ReadFile(name)
			if err != nil {
				continue // the thread has ended
			}
			for _, f := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(f); err == nil {
					family = append(family, pid)
				}
			}
		}
	}
	return family
}

// CPU is how long processes have been on a core, added up: to the nanosecond, threads that have ended included. One that has
// ended is an error.
func CPU(pids []int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		var t unix.Timespec
		if err := unix.ClockGettime(processClock(pid), &t); err != nil {
			return 0, fmt.Errorf("pinned: the CPU time of process %d: %w", pid, err)
		}
		sum += time.Duration(t.Nano())
	}
	return sum, nil
}

// processClock is what clock_getcpuclockid(3) gives: the kernel's number of the clock of a process, CPUCLOCK_SCHED.
func processClock(pid int) int32 { return int32(^pid<<3 | 2) }

// status calls tell for each line of /proc/PID/status that has a number.
func (p *Process) status(tell func(key string, n int64)) error {
	for i, pid := range p.Family() {
		name := fmt.Sprintf("/proc/%d/status", pid)
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			continue // a child that has ended
		}
		if err != nil {
			return fmt.Errorf("pinned: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(line, ":")
			fields := strings.Fields(value)
			if len(fields) == 0 {
				continue
			}
			if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
				tell(key, n)
			}
		}
	}
	return nil
}
