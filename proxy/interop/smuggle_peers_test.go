package interop

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
	"example.com/ferry/proxy/proxytest"
)

// TestSmugglingPeers sends each case that ferry forwards through nginx and HAProxy. ferry is never the only proxy that forwards one. The
// ground is that of two suites, Http11Probe and HTTP Garden; the corpus has its own bytes.
func TestSmugglingPeers(t *testing.T) {
	s := newRecordingServer(t)
	atNginx, _ := nginxWith(t, "listen ADDRESS backlog=4096; location ~ . { proxy_pass http://"+s.address+"; proxy_http_version 1.1; }")
	atHAProxy := haproxy(t, s.address)
	forwarded, more := 0, [2]int{} // cases that ferry forwards; of them those of nginx and of HAProxy
	for _, c := range corpus(t) {
		if !c.forwards || strings.HasPrefix(c.raw, "CONNECT") {
			continue
		}
		forwarded++
		alone := true
		for i, address := range []string{atNginx, atHAProxy} {
			if passes(t, address, c.raw, s) {
				more[i]++
				alone = false
			}
		}
		if alone {
			t.Errorf("%s: ferry forwards it, and neither nginx nor HAProxy does: %q", c.name, c.raw)
		}
	}
	t.Logf("ferry forwards %d cases, nginx %d of them, HAProxy %d", forwarded, more[0], more[1])
	if forwarded < 50 || min(more[0], more[1]) < forwarded/2 {
		t.Error("a proxy does not forward what is sent to it, or the corpus was not read")
	}
}

// passes reports whether the server behind a proxy gets a request.
func passes(t *testing.T, address, raw string, s *recordingServer) bool {
	t.Helper()
	before := len(s.seen())
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(raw, " ")
	_, _, _, _ = readResponse(bufio.NewReader(c), method) // the server notes a request before it responds
	return len(s.seen()) > before
}

// haproxy starts HAProxy in front of a server.
func haproxy(t *testing.T, server string) (address string) {
	t.Helper()
	program := needs.Program(t, "haproxy")
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	onFreePort(t, func() (*exec.Cmd, string) {
		address = freePort(t)
		conf := "global\n\tnbthread 1\n\tmaxconn 1000\ndefaults\n\tmode http\n\ttimeout connect 1m\n\ttimeout client 1m\n\ttimeout server 1m\n" +
			"frontend front\n\tbind " + address + "\n\tdefault_backend back\nbackend back\n\tserver up " + server + "\n"
		if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		return exec.Command("sh", "-c", `"$1" -db -f "$2" & n=$!; trap 'kill -USR1 $n' TERM; echo ready; wait $n; wait $n`, "sh", program, file), "ready"
	}, func(*exec.Cmd) {})
	proxytest.Eventually(t, "HAProxy listens", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return address
}
