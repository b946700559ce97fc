package cpu

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestQuota(t *testing.T) {
	v1 := func(dir, quota string) map[string]string {
		return map[string]string{dir + "/cpu.cfs_quota_us": quota + "\n", dir + "/cpu.cfs_period_us": "100000\n"}
	}
	for _, row := range []struct {
		name  string
		group string
		files map[string]string
		want  float64
	}{
		{"nothing", "0::/\n", nil, 0},
		{"v2", "0::/a\n", map[string]string{"sys/fs/cgroup/a/cpu.max": "150000 100000\n"}, 1.5},
		{"v2 without a limit", "0::/a\n", map[string]string{"sys/fs/cgroup/a/cpu.max": "max 100000\n"}, 0},
		{"v2, a group above is smaller", "0::/a/b\n", map[string]string{
			"sys/fs/cgroup/a/b/cpu.max": "300000 100000\n", "sys/fs/cgroup/a/cpu.max": "200000 100000\n",
		}, 2},
		{"v2 in a container", "0::/\n", map[string]string{"sys/fs/cgroup/cpu.max": "50000 100000\n"}, 0.5},
		{"v1", "4:cpu,cpuacct:/a\n0::/\n", v1("sys/fs/cgroup/cpu/a", "400000"), 4},
		{"v1 joined", "4:cpu,cpuacct:/a\n", v1("sys/fs/cgroup/cpu,cpuacct/a", "400000"), 4},
		{"v1 without a limit", "1:cpu:/a\n", v1("sys/fs/cgroup/cpu/a", "-1"), 0},
		{"v1 in a container", "1:cpu:/docker/0123\n", v1("sys/fs/cgroup/cpu", "100000"), 1},
		{"another controller", "1:cpuset:/a\n", v1("sys/fs/cgroup/cpu/a", "100000"), 0},
		{"rubbish", "hello\n1:cpu\n0::/a\n", map[string]string{"sys/fs/cgroup/a/cpu.max": "x y z\n"}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			root := t.TempDir()
			files := map[string]string{"proc/self/cgroup": row.group}
			maps.Copy(files, row.files)
			for name, text := range files {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := quota(root); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
	if got := quota(t.TempDir()); got != 0 {
		t.Errorf("without /proc: got %v, want 0", got)
	}
}

// TestSlice sets the slice of one thread and reads it back.
func TestSlice(t *testing.T) {
	runtime.LockOSThread() // never unlocked, so the thread ends with the test's goroutine
	if err := setSlice(unix.Gettid(), 200*time.Microsecond); err != nil {
		t.Skipf("needs Linux 6.12, and a sandbox that allows sched_setattr: %v", err)
	}
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Runtime != 200_000 {
		t.Errorf("got %+v, %v; want a runtime of 200000 ns", attr, err)
	}
}
