package pubsub

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU returns the CPU time of all threads of a process so far, or 0 on a system without /proc.
func CPU(pid int) (sum time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		running, _, _ := strings.Cut(string(stat), " ")
		ns, _ := strconv.ParseInt(running, 10, 64)
		sum += time.Duration(ns)
	}
	return sum
}
