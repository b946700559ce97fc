package keepalive

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// mostFailures is the number of failures that ends a Repeat.
const mostFailures = 100

// Repeat is the closed loop of a Generator whose operations block: each worker calls op again and again. Each call that returns
// nil is a request of the report.
func Repeat(l Load, workers int, op func(worker int) error) (*Report, error) {
	if err := l.validate(); err != nil {
		return nil, err
	}
	if l.Rate > 0 || l.Once > 0 {
		return nil, errors.New("keepalive: operations that block have no rate and no end")
	}
	m := newMeasurement(l)
	var mu sync.Mutex // guards the report and the marks of m
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for m.now() < m.end() {
				began := m.now()
				err := op(worker)
				mu.Lock()
				if err == nil {
					m.count(began)
				} else if m.report.Failures++; m.report.Failure == "" {
					m.report.Failure = err.Error()
				}
				enough := m.report.Failures > mostFailures
				mu.Unlock()
				if enough {
					return
				}
			}
		})
	}
	var errs [2]error
	for i, until := range []time.Duration{m.Warm, m.end()} {
		time.Sleep(until - m.now())
		mu.Lock()
		errs[i] = m.mark()
		mu.Unlock()
	}
	all.Wait()
	return &m.report, errors.Join(errs[:]...)
}

// PinProcess restricts all threads of this process to cores. Threads that start later inherit that. No cores mean all.
func PinProcess(cores []int) error {
	if len(cores) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, core := range cores {
		set.Set(core)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("keepalive: %w", err)
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			return fmt.Errorf("keepalive: thread %q: %w", t.Name(), err)
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("keepalive: cores %v: %w", cores, err)
		}
	}
	return nil
}
