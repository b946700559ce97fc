package loop

import (
	"bytes"
	"os"
	"strconv"
	"testing"
)

// TestDescriptorTableIsReserved reads from proc_pid_status(5) how many descriptors the kernel's table has room for. It has room for all
// that the process may open, so that no accept has to wait until it grows.
func TestDescriptorTableIsReserved(t *testing.T) {
	start(t, Config{Loops: 1})
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("\nFDSize:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	size, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if err != nil {
		t.Fatal(err)
	}
	if want := min(descriptorLimit(), mostReserved); size < want {
		t.Errorf("the table has room for %d descriptors, want %d", size, want)
	}
}
