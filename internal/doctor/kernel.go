package doctor

import (
	"fmt"
	"strings"
)

// feature is what ferry uses of a kernel, if it is new enough.
type feature struct {
	since   [2]int // major and minor version
	what    string
	without string // what ferry does on an older kernel
	fault   bool   // it cannot do without
	used    func(*exam) bool
}

var features = []feature{
	{
		[2]int{4, 5},
		"epoll with EPOLLEXCLUSIVE, for listeners of the event loops", "the listeners of the proxy and those of streams fail", true,
		func(*exam) bool { return true },
	},
	{
		[2]int{4, 18},
		"segmentation of UDP by the kernel (UDP_SEGMENT)", "QUIC sends each datagram with a system call of its own: more CPU time for the same traffic", false,
		func(x *exam) bool { return x.usesQUIC() },
	},
	{
		[2]int{6, 12},
		"time slices by thread (sched_setattr), for heavy functions", "a message waits for a busy core up to the default slice of the scheduler, some milliseconds; " +
			"cpu.kernel_slices has no effect", false,
		func(x *exam) bool { return x.Node.Heavy() && x.Node.CPU.KernelSlices },
	},
}

// kernel compares the version of the kernel with what ferry uses.
func (x *exam) kernel() {
	const file = "/proc/sys/kernel/osrelease"
	release, ok := x.Machine.text(file)
	if !ok {
		x.unchecked("%s cannot be read", file)
		return
	}
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n != 2 {
		x.unchecked("%s has no version: %q", file, release)
		return
	}
	var lacks []string
	for _, f := range features {
		if !f.used(x) || major > f.since[0] || major == f.since[0] && minor >= f.since[1] {
			continue
		}
		found := Finding{
			What:  fmt.Sprintf("Linux %s lacks %s", release, f.what),
			Where: file, Why: f.without, Mend: fmt.Sprintf("use Linux %d.%d or later", f.since[0], f.since[1]),
		}
		if f.fault {
			x.fault(found)
		} else {
			x.warning(found)
		}
		lacks = append(lacks, f.what)
	}
	if len(lacks) == 0 {
		x.fine("Linux %s has what this configuration uses", release)
	}
}

// usesQUIC reports whether a listener or a link of the node is over QUIC.
func (x *exam) usesQUIC() bool {
	for _, l := range x.Node.Listeners {
		if l.Scheme() == "quic" {
			return true
		}
	}
	for _, f := range x.Node.Forward {
		if strings.HasPrefix(f.Address, "quic://") {
			return true
		}
	}
	return false
}
