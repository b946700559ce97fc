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
	for line := range strings.Lines(readFile("/proc/cpuinfo")) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
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
