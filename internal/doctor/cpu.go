package doctor

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"example.com/ferry/internal/cgroup"
)

// cpu compares the quota of the control groups with what the configuration wants to run at once.
func (x *exam) cpu() {
	quota, file := x.Machine.cpuQuota()
	if quota == 0 {
		x.fine("no control group limits the CPU time")
		return
	}
	throttled := "when the quota of a period (100 ms) is used up, the kernel stops the whole process until the next one: all connections wait"
	if quota < 1 {
		x.warning(Finding{
			What: fmt.Sprintf("the control group has %.2f CPUs", quota), Where: file, Why: throttled,
			Mend: "give at least one CPU: CPUQuota=100% in the unit, or resources.limits.cpu: 1; in Kubernetes, a request without a limit is not throttled",
		})
	}
	if threads, _ := strconv.Atoi(x.Machine.Getenv("GOMAXPROCS")); float64(threads) > math.Ceil(quota) {
		x.warning(Finding{
			What: fmt.Sprintf("GOMAXPROCS=%d, and the control group has %.2f CPUs", threads, quota), Where: file, Why: throttled,
			Mend: "unset GOMAXPROCS: Go follows the quota by itself",
		})
	}
	if p := x.Node.Proxy; p != nil && float64(p.Loops) > math.Ceil(quota) {
		x.warning(Finding{
			What: fmt.Sprintf("%d event loops, and the control group has %.2f CPUs", p.Loops, quota), Where: x.at("proxy.loops"), Why: throttled,
			Mend: "leave proxy.loops out: the node then has one loop for each CPU that it may use",
		})
	}
	x.fine("the control group has %.2f CPUs", quota)
}

// cpuQuota returns the smallest CPU quota of the process's control groups of version 2, in CPUs, and the file that has it. It returns 0
// if there is none.
func (m *Machine) cpuQuota() (quota float64, file string) {
	for _, name := range cgroup.Files(m.Root, "cpu", "cpu.max", "") {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b)) // "max 100000", or "50000 100000": microseconds in a period
		if len(fields) != 2 {
			continue
		}
		used, err1 := strconv.ParseFloat(fields[0], 64)
		period, err2 := strconv.ParseFloat(fields[1], 64)
		if err1 == nil && err2 == nil && period > 0 && (quota == 0 || used/period < quota) {
			quota, file = used/period, name
		}
	}
	return quota, file
}
