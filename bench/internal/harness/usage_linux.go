package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	steal time.Duration // time in which the hypervisor ran something else, sum of all cores
	own   time.Duration // CPU time of the experiment's processes
}

// Used returns the Usage now; own is the CPU time of this process and of pids.
func Used(pids []int) (Usage, error) {
	return used(func() (time.Duration, error) {
		sum, err := selfCPU(unix.RUSAGE_SELF)
		for _, pid := range pids {
			cpu, errPID := ProcessCPU(pid)
			sum, err = sum+cpu, errors.Join(err, errPID)
		}
		return sum, err
	})
}

// usedByRun returns the Usage now; own is the CPU time of this process and of all processes that descend from it, including
// those that have ended and were waited for.
func usedByRun() (Usage, error) {
	return used(func() (time.Duration, error) {
		self, errSelf := selfCPU(unix.RUSAGE_SELF)
		ended, errEnded := selfCPU(unix.RUSAGE_CHILDREN)
		for _, pid := range Family(os.Getpid())[1:] {
			if t, err := processTimes(pid); err == nil { // it may have ended meanwhile
				ended += t.own + t.ended
			}
		}
		return self + ended, errors.Join(errSelf, errEnded)
	})
}

func used(own func() (time.Duration, error)) (u Usage, err error) {
	u.at = time.Now()
	if err := u.readMachine(); err != nil {
		return u, err
	}
	u.own, err = own()
	return u, err
}

// Until returns the CPU time that the experiment used from a to b, and how many cores were taken from it: the time that was
// neither idle nor the experiment's. That is the time of other programs, and the time that the hypervisor took (steal).
func (a Usage) Until(b Usage) (own time.Duration, foreign float64) {
	wall := b.at.Sub(a.at)
	own = b.own - a.own
	others := time.Duration(a.cores)*wall - (b.idle - a.idle) - own
	return own, max(0, others.Seconds()/wall.Seconds())
}

// StealUntil returns how many cores the hypervisor took from a to b. The result of Until includes them.
func (a Usage) StealUntil(b Usage) float64 {
	return (b.steal - a.steal).Seconds() / b.at.Sub(a.at).Seconds()
}

// readMachine reads the number of cores and their times since the machine started. proc_stat(5).
func (u *Usage) readMachine() error {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return fmt.Errorf("harness: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu"):
		case fields[0] == "cpu":
			var errs [2]error
			u.idle, errs[0] = addTicks(fields[4:6]) // idle and iowait
			u.steal, errs[1] = addTicks(fields[8:9])
			err = errors.Join(errs[:]...)
		default:
			u.cores++
		}
	}
	if u.cores == 0 {
		return fmt.Errorf("harness: /proc/stat says nothing of cores: %q", text)
	}
	return err
}

// selfCPU returns the CPU time of this process (RUSAGE_SELF) or of its children that were waited for (RUSAGE_CHILDREN).
func selfCPU(who int) (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		return 0, fmt.Errorf("harness: getrusage: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// ProcessCPU returns the CPU time of a process, threads that have ended included.
func ProcessCPU(pid int) (time.Duration, error) {
	t, err := processTimes(pid)
	return t.own, err
}

// EndedCPU returns the CPU time of the children of a process that have ended and were waited for.
func EndedCPU(pid int) (time.Duration, error) {
	t, err := processTimes(pid)
	return t.ended, err
}

// times is the CPU time of a process, and that of its children that have ended and were waited for.
type times struct{ own, ended time.Duration }

// processTimes reads /proc/PID/stat. proc_pid_stat(5).
func processTimes(pid int) (times, error) {
	name := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := os.ReadFile(name)
	if err != nil {
		return times{}, fmt.Errorf("harness: %w", err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // from the third one on
	if len(fields) < 15 {
		return times{}, fmt.Errorf("harness: %s: %d fields", name, len(fields))
	}
	own, errOwn := addTicks(fields[11:13])     // utime and stime
	ended, errEnded := addTicks(fields[13:15]) // cutime and cstime
	return times{own, ended}, errors.Join(errOwn, errEnded)
}

// Family returns pid and the PIDs of its running descendants.
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
