package needs

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// Program returns the path of the named executable.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name, "make deps")
	}
	return path
}

// Root wants the test to run as the superuser.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "root", "sudo make test")
	}
}

// NetNS wants what a test of several network namespaces uses: Linux, the right to make one, and the programs ip and nft.
func NetNS(t testing.TB) {
	t.Helper()
	if err := tryNetNS(); err != nil {
		Missing(t, "network namespaces ("+err.Error()+")", "sudo make test, on Linux")
	}
	Program(t, "ip")
	Program(t, "nft")
}

// Cores wants so many: a test that gives programs cores of their own has no sense on fewer.
func Cores(t testing.TB, n int) {
	t.Helper()
	if runtime.NumCPU() < n {
		Missing(t, fmt.Sprintf("%d cores", n), "run it on a larger machine")
	}
}

// Missing ends a test that lacks what help brings: failed on CI, else skipped. The text is what `make test` repeats at its
// end. It is for needs that none of the functions above looks for.
func Missing(t testing.TB, what, help string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("needs %s: %s (CI=true, so it may not be skipped)", what, help)
	}
	t.Skipf("needs %s: %s", what, help)
}
