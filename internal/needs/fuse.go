package needs

import (
	"os"
	"testing"
)

// FUSE skips the test unless the process may mount file systems of FUSE. That needs Linux, /dev/fuse, and either the superuser or
// the program fusermount3.
func FUSE(t testing.TB) {
	t.Helper()
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		Missing(t, "FUSE ("+err.Error()+")", "sudo make test, on Linux")
	}
	_ = f.Close()
	if os.Geteuid() != 0 {
		Program(t, "fusermount3")
	}
}
