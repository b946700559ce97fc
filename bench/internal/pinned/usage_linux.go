package pinned

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry/bench/internal/harness"
)

// Memory is the memory of a process and its descendants, in bytes.
type Memory struct {
	RSS  int64 // resident
	Anon int64 // resident anonymous memory: neither mapped from a file nor shared
	Peak int64 // the maximum of RSS so far
}

// CPU returns the CPU time of the process and its descendants.
func (p *Process) CPU() (time.Duration, error) { return CPU(p.Family()) }

// CPUWithEnded returns the CPU time of the process and its descendants, those included that have ended and were waited for: theirs
// is counted in units of 10 ms.
func (p *Process) CPUWithEnded() (time.Duration, error) {
	var sum time.Duration
	for i, pid := range p.Family() {
		running, err := CPU([]int{pid})
		var ended time.Duration
		if err == nil {
			ended, err = harness.EndedCPU(pid)
		}
		if err != nil && i > 0 {
			continue // it has ended
		}
		if err != nil {
			return 0, err
		}
		sum += running + ended
	}
	return sum, nil
}

// Memory returns the memory of the process and its descendants now.
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

// Threads returns how many threads the process and its descendants have.
func (p *Process) Threads() (int, error) {
	count := 0
	err := p.status(func(key string, n int64) {
		if key == "Threads" {
			count += int(n)
		}
	})
	return count, err
}

// Family returns the PIDs of the process and its running descendants. A program may listen before it starts its workers: call
// Family once it is under load.
func (p *Process) Family() []int { return harness.Family(p.PID()) }

// CPU returns the sum of the CPU times of processes, including threads that have ended. It returns an error if a process has ended.
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

// processClock returns the clock of a process, CPUCLOCK_SCHED, as clock_getcpuclockid(3) does.
func processClock(pid int) int32 { return int32(^pid<<3 | 2) }

// status calls visit for each line of /proc/PID/status whose value is a number.
func (p *Process) status(visit func(key string, n int64)) error {
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
				visit(key, n)
			}
		}
	}
	return nil
}
