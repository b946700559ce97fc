package cli

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
)

// TestFromMosquitto tries docs/from-mosquitto.md: the clients of mosquitto, a password file of mosquitto_passwd, an acl_file, and the bridge of a mosquitto broker.
func TestFromMosquitto(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		needs.Missing(t, "mosquitto with Unix sockets", "run it on Linux")
	}
	program := map[string]string{}
	for _, name := range []string{"mosquitto", "mosquitto_passwd", "mosquitto_pub", "mosquitto_sub"} {
		program[name] = needs.Program(t, name)
	}
	dir, err := os.MkdirTemp("", "mq") //nolint:usetesting // t.TempDir may be too long for the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	run := func(name string, args ...string) (string, error) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program[name], args...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	must := func(want, name string, args ...string) {
		t.Helper()
		if out, err := run(name, args...); err != nil || want != "" && out != want {
			t.Fatalf("%s %q: got %q, %v, want %q", name, args, out, err, want)
		}
	}
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	users := write("users", "")
	for _, user := range []string{"pump-1", "panel", "bridge"} {
		must("", "mosquitto_passwd", "-b", users, user, "secret of "+user)
	}
	acl := write("acl", "user panel\ntopic read pumps/#\ntopic read factory/#\ntopic orders/#\nuser bridge\ntopic write factory/#\ntopic read orders/#\npattern write pumps/%u/#\n")
	n := runNode(t, fmt.Sprintf(`
listeners:
  - address: tcp://127.0.0.1:0
  - address: mqtt://127.0.0.1:0
  - address: mqtts://127.0.0.1:0
admin: {address: 127.0.0.1:0}
mqtt: {password_file: %s, acl_file: %s}
`, users, acl))
	flags := func(scheme, user string, more ...string) []string {
		t.Helper()
		host, port, err := net.SplitHostPort(regexp.MustCompile(scheme + `://([0-9.:]+)`).FindStringSubmatch(n.welcome)[1])
		if err != nil {
			t.Fatal(err)
		}
		all := []string{"-h", host, "-p", port, "-u", user, "-P", "secret of " + user, "-q", "1"}
		if scheme == "mqtts" {
			all = append(all, "--cafile", filepath.Join(n.dir, "ferry-data", "ca.pem"))
		}
		return append(all, more...)
	}
	receive := func(more ...string) []string { return append([]string{"-C", "1", "-W", "60", "-v"}, more...) }

	for i, scheme := range []string{"mqtt", "mqtts"} {
		for j, version := range []string{"mqttv311", "mqttv5"} {
			m := fmt.Sprint(i, j)
			must("", "mosquitto_pub", flags(scheme, "pump-1", "-V", version, "-r", "-t", "pumps/pump-1/value", "-m", m)...)
			must("pumps/pump-1/value "+m, "mosquitto_sub", flags(scheme, "panel", receive("-V", version, "-t", "pumps/#")...)...)
		}
	}
	if out, err := run("mosquitto_pub", flags("mqtt", "pump-1", "-V", "mqttv5", "-t", "pumps/pump-2/value", "-m", "1")...); err == nil && !strings.Contains(out, "uthorized") {
		t.Errorf("a message without a grant: %q", out)
	}
	if out, err := run("mosquitto_pub", flags("mqtt", "pump-1", "-P", "wrong", "-t", "pumps/pump-1/value", "-m", "1")...); err == nil {
		t.Errorf("a wrong password: %q", out)
	}

	// A mosquitto with a bridge to the node, in both directions. What is retained before it connects arrives as retained.
	must("", "mosquitto_pub", flags("mqtt", "panel", "-r", "-t", "orders/1", "-m", "8")...)
	socket, address := filepath.Join(dir, "socket"), regexp.MustCompile(`mqtt://([0-9.:]+)`).FindStringSubmatch(n.welcome)[1]
	conf := fmt.Sprintf("listener 0 %s\nallow_anonymous true\nconnection ferry\naddress %s\ntopic factory/# out 1\ntopic orders/# in 1\nremote_username bridge\nremote_password secret of bridge\nnotifications false\nrestart_timeout 1\n",
		socket, address)
	if os.Geteuid() == 0 {
		conf += "user root\n"
	}
	broker := exec.CommandContext(t.Context(), program["mosquitto"], "-c", write("conf", conf))
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = broker.Process.Kill()
		_ = broker.Wait()
	})
	for late := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(late) {
			t.Fatal("mosquitto does not listen")
		}
	}
	must("", "mosquitto_pub", "--unix", socket, "-q", "1", "-r", "-t", "factory/line", "-m", "7")
	must("factory/line 7", "mosquitto_sub", flags("mqtt", "panel", receive("-t", "factory/#")...)...)
	must("orders/1 8", "mosquitto_sub", append([]string{"--unix", socket}, receive("-q", "1", "-t", "orders/#")...)...)
}
