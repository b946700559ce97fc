package needs

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// Program returns the path of the named executable. If the executable is not installed, the test is skipped.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name, "make deps")
	}
	return path
}

// Root skips the test unless the process runs as the superuser.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "root", "sudo make test")
	}
}

// NetNS skips the test if the machine does not offer several network namespaces. That needs Linux, the permission to make a
// namespace, and the programs ip and nft.
func NetNS(t testing.TB) {
	t.Helper()
	if err := tryNetNS(); err != nil {
		Missing(t, "network namespaces ("+err.Error()+")", "sudo make test, on Linux")
	}
	Program(t, "ip")
	Program(t, "nft")
}

// Cores skips the test on a machine with fewer than n cores. It is for tests that give each program a core of its own.
func Cores(t testing.TB, n int) {
	t.Helper()
	if runtime.NumCPU() < n {
		Missing(t, fmt.Sprintf("%d cores", n), "run it on a larger machine")
	}
}

// Missing ends a test because the machine lacks what. help says how to install it. With CI=true the test fails, otherwise it
// is skipped. `make test` repeats the text at the end of its report. Call Missing for a need that no function above checks.
func Missing(t testing.TB, what, help string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("needs %s: %s (CI=true, so it may not be skipped)", what, help)
	}
	t.Skipf("needs %s: %s", what, help)
}
