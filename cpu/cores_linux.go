package cpu

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// affinity returns how many cores the process may run on now, or 0 if the kernel does not say.
func affinity() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0
	}
	return set.Count()
}

// quota returns the smallest CPU quota, in cores, of the process's control groups and their parents. It returns 0 if there is
// no quota. It reads the files below root. A container may see its own group as the top, so the path of a group may not exist.
// Then quota starts at the nearest parent directory that exists.
func quota(root string) float64 {
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0
	}
	least := 0.0
	for line := range strings.Lines(string(groups)) {
		// hierarchy-ID:controller-list:path, cgroups(7).
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[1] == "":
			least = lower(least, walk(root, []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}, parts[2], quotaV2))
		case strings.Contains(","+parts[1]+",", ",cpu,"):
			least = lower(least, walk(root, []string{"sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"}, parts[2], quotaV1))
		}
	}
	return least
}

// walk returns the smallest quota of the group at path and all its parents.
func walk(root string, mounts []string, path string, read func(dir string) float64) float64 {
	least := 0.0
	for _, mount := range mounts {
		for p := filepath.Clean("/" + path); ; p = filepath.Dir(p) {
			least = lower(least, read(filepath.Join(root, mount, p)))
			if p == "/" {
				break
			}
		}
	}
	return least
}

// lower returns the lower of two quotas, where 0 means no quota.
func lower(a, b float64) float64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// quotaV2 reads cpu.max: "$MAX $PERIOD" in us; $MAX may be "max". Linux, Documentation/admin-guide/cgroup-v2.rst, CPU
// interface files.
func quotaV2(dir string) float64 {
	text, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
	if err != nil {
		return 0
	}
	most, period, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	return ratio(most, period)
}

// quotaV1 reads cpu.cfs_quota_us (-1 means none) and cpu.cfs_period_us. Linux, Documentation/scheduler/sched-bwc.rst.
func quotaV1(dir string) float64 {
	most, err := os.ReadFile(filepath.Join(dir, "cpu.cfs_quota_us"))
	if err != nil {
		return 0
	}
	period, err := os.ReadFile(filepath.Join(dir, "cpu.cfs_period_us"))
	if err != nil {
		return 0
	}
	return ratio(strings.TrimSpace(string(most)), strings.TrimSpace(string(period)))
}

// ratio returns most/period. It returns 0 unless both are numbers above zero.
func ratio(most, period string) float64 {
	m, err1 := strconv.ParseFloat(most, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || m <= 0 || p <= 0 {
		return 0
	}
	return m / p
}
