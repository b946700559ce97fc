package harness

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
)

// Machine describes the hardware and the software versions of a measurement.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	OS     string `json:"os"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Ferry  string `json:"ferry"` // commit of ferry
	Load   string `json:"load"`  // load averages of the last 1, 5 and 15 minutes before the run
}

func thisMachine() Machine {
	m := Machine{
		CPU:    "unknown",
		Cores:  runtime.GOMAXPROCS(0),
		OS:     runtime.GOOS + "/" + runtime.GOARCH,
		Kernel: "unknown",
		Go:     runtime.Version(),
		Ferry:  "unknown",
		Load:   "unknown",
	}
	if name := cpuName(readFile("/proc/cpuinfo")); name != "" {
		m.CPU = name
	}
	if s := strings.TrimSpace(readFile("/proc/sys/kernel/osrelease")); s != "" {
		m.Kernel = s
	}
	if f := strings.Fields(readFile("/proc/loadavg")); len(f) >= 3 {
		m.Load = strings.Join(f[:3], " ")
	}
	if out, err := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output(); err == nil {
		m.Ferry = strings.TrimSpace(string(out))
	}
	return m
}

const familyMark = " (family "

// cpuName returns the CPU model's name in /proc/cpuinfo. Hypervisors may hide the number, "AMD EPYC": then cpuName adds the
// CPU family and the model number, which tell one generation from the next.
func cpuName(cpuinfo string) string {
	first := make(map[string]string)
	for line := range strings.Lines(cpuinfo) {
		if key, value, ok := strings.Cut(line, ":"); ok && first[strings.TrimSpace(key)] == "" {
			first[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	name := first["model name"]
	if name != "" && !strings.ContainsAny(name, "0123456789") && first["cpu family"] != "" {
		name += familyMark + first["cpu family"] + ", model " + first["model"] + ")"
	}
	return name
}

// sameCPU reports whether two names are those of one CPU model. Results of an earlier harness lack family and model.
func sameCPU(a, b string) bool {
	short := func(name string) string {
		name, _, _ = strings.Cut(name, familyMark)
		return name
	}
	return a == b || a == short(b) || b == short(a)
}

func readFile(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(b)
}

// Version returns the version of a module that is linked into this program. The row of a peer shows this version.
func Version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return dep.Version
			}
		}
	}
	return "unknown"
}
