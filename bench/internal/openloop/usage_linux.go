package openloop

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ticks is the number of CPU time units of /proc in a second: USER_HZ, which is 100 on all common architectures of Linux.
const ticks = 100

// Usage is how much CPU time was used up to a moment.
type Usage struct {
	at    time.Time
	cores int           // cores of the machine, including cores that this process may not use
	idle  time.Duration // idle time, sum of all cores
	own   time.Duration // CPU time of the experiment's processes
}

// Used returns the Usage now; own is the CPU time of this process and of pids.
func Used(pids []int) (u Usage, err error) {
	u.at = time.Now()
	if u.cores, u.idle, err = idle(); err != nil {
		return u, err
	}
	var self unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &self); err != nil {
		return u, fmt.Errorf("openloop: getrusage: %w", err)
	}
	u.own = time.Duration(self.Utime.Nano() + self.Stime.Nano())
	for _, pid := range pids {
		cpu, err := ProcessCPU(pid)
		if err != nil {
			return u, err
		}
		u.own += cpu
	}
	return u, nil
}

// Until returns the CPU time that the experiment used from a to b, and how many cores other programs used: the time that
// was neither idle nor the experiment's.
func (a Usage) Until(b Usage) (own time.Duration, foreign float64) {
	wall := b.at.Sub(a.at)
	own = b.own - a.own
	others := time.Duration(a.cores)*wall - (b.idle - a.idle) - own
	return own, max(0, others.Seconds()/wall.Seconds())
}

// idle returns the number of cores, and the sum of their idle times since the machine started. proc_stat(5).
func idle() (cores int, sum time.Duration, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("openloop: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) < 6 || !strings.HasPrefix(fields[0], "cpu"):
		case fields[0] == "cpu":
			sum, err = addTicks(fields[4:6]) // idle and iowait
		default:
			cores++
		}
	}
	if cores == 0 {
		return 0, 0, fmt.Errorf("openloop: /proc/stat says nothing of cores: %q", text)
	}
	return cores, sum, err
}

// ProcessCPU returns the CPU time of a process, threads that have ended included. proc_pid_stat(5).
func ProcessCPU(pid int) (time.Duration, error) {
	name := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, fmt.Errorf("openloop: %w", err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // from the third one on
	if len(fields) < 13 {
		return 0, fmt.Errorf("openloop: %s: %d fields", name, len(fields))
	}
	return addTicks(fields[11:13]) // utime and stime
}

func addTicks(fields []string) (time.Duration, error) {
	var all time.Duration
	var errs error
	for _, f := range fields {
		n, err := strconv.ParseInt(f, 10, 64)
		errs = errors.Join(errs, err)
		all += time.Duration(n) * time.Second / ticks
	}
	return all, errs
}
