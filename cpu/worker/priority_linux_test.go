package worker

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPriority: each thread of the process has the priority in Config.
func TestPriority(t *testing.T) {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	own := 20 - raw
	for _, row := range []struct {
		name         string
		change       func(*Config)
		nice, policy int
	}{
		{"by default", func(*Config) {}, max(10, own), unix.SCHED_NORMAL},
		{"as told", func(c *Config) { c.Nice = 13 }, max(13, own), unix.SCHED_NORMAL},
		{"left alone", func(c *Config) { c.Nice = -1 }, own, unix.SCHED_NORMAL},
		{"idle", func(c *Config) { c.Idle = true }, own, unix.SCHED_IDLE},
	} {
		t.Run(row.name, func(t *testing.T) {
			cfg := role(t, "serve")
			row.change(&cfg)
			id := pid(t, start(t, cfg))
			threads, err := filepath.Glob("/proc/" + strconv.Itoa(id) + "/task/*")
			if err != nil || len(threads) == 0 {
				t.Fatalf("threads of process %d: %q, %v", id, threads, err)
			}
			for _, path := range threads {
				tid, err := strconv.Atoi(filepath.Base(path))
				if err != nil {
					t.Fatal(err)
				}
				attr, err := unix.SchedGetAttr(tid, 0)
				if err != nil {
					t.Fatal(err)
				}
				if int(attr.Policy) != row.policy || int(attr.Nice) != row.nice {
					t.Errorf("thread %d: policy %d, nice %d, want %d, %d", tid, attr.Policy, attr.Nice, row.policy, row.nice)
				}
			}
		})
	}
}

// TestGroupEnds: when a worker ends, the processes that it has started in its group end too.
func TestGroupEnds(t *testing.T) {
	p := start(t, role(t, "serve"))
	answers, err := ask(t.Context(), p, "child", "")
	if err != nil || len(answers) != 1 {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	grandchild, err := strconv.Atoi(string(answers[0].Payload))
	if err != nil {
		t.Fatal(err)
	}
	group, err := syscall.Getpgid(grandchild)
	if err != nil {
		t.Fatal(err)
	}
	if group == syscall.Getpgrp() {
		t.Fatalf("process %d is in the group of this one", grandchild)
	}
	_ = p.Close()
	// The process was sent SIGKILL. It has ended, is about to end, or was not reaped yet.
	for alive(grandchild) {
		time.Sleep(time.Millisecond)
	}
}

func alive(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(status), ") Z ")
}
