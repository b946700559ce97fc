package cli

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSystemd checks what ferry run reports to systemd: ready, alive, reloading and ready again, stopping.
func TestSystemd(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "150000") // one report each 50 ms
	await := func(want string) {
		t.Helper()
		buf := make([]byte, 4096)
		for {
			_ = systemd.SetReadDeadline(time.Now().Add(time.Minute))
			n, err := systemd.Read(buf)
			if err != nil {
				t.Fatalf("%s is not reported: %v", want, err)
			}
			switch state, _, _ := strings.Cut(string(buf[:n]), "\n"); state {
			case want:
				return
			case "WATCHDOG=1":
			default:
				t.Fatalf("reported %s, want %s", state, want)
			}
		}
	}
	n := runNode(t, nodeYAML)
	await("READY=1")
	await("WATCHDOG=1")
	if err := n.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await("RELOADING=1")
	await("READY=1")
	await("WATCHDOG=1")
	if err := n.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await("STOPPING=1")
	if err := n.Wait(); err != nil {
		t.Error(err)
	}
}
