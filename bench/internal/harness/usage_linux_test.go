package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A process that is pinned to one core still measures what others use of all cores.
func TestUsedKnowsAllCores(t *testing.T) {
	u, err := Used(nil)
	if err != nil {
		t.Fatal(err)
	}
	cores, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	if err != nil || u.cores < 1 || u.cores > len(cores) {
		t.Errorf("%d cores (%v), and /sys has %d", u.cores, err, len(cores))
	}
	later := u
	later.at = u.at.Add(time.Second)
	later.own += time.Second / 4
	later.steal += time.Second / 8
	if own, foreign := u.Until(later); own != time.Second/4 || foreign != float64(u.cores)-0.25 {
		t.Errorf("no idle time, a quarter of a second of its own: own %v, foreign %v of %d cores", own, foreign, u.cores)
	}
	if got := u.StealUntil(later); got != 0.125 {
		t.Errorf("steal: got %v cores, want 0.125", got)
	}
}

// The CPU time of a child is the run's own, while the child runs and after it has ended.
func TestUsedByRunKnowsChildren(t *testing.T) {
	before, err := usedByRun()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sh", "-c", "while :; do :; done")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	const enough = 100 * time.Millisecond
	var running Usage
	for deadline := time.Now().Add(time.Minute); running.own-before.own < enough; time.Sleep(10 * time.Millisecond) {
		if running, err = usedByRun(); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("a child that spins has used %v in a minute", running.own-before.own)
		}
	}
	if family := Family(os.Getpid()); !slices.Contains(family[1:], child.Process.Pid) {
		t.Errorf("the family %v lacks the child %d", family, child.Process.Pid)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed
	if after, err := usedByRun(); err != nil || after.own < running.own-time.Second/ticks {
		t.Errorf("after the child has ended: %v, %v; while it ran %v", after.own, err, running.own)
	}
}
