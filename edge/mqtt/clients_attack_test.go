//go:build attack

package mqtt_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/edge/mqtt"
	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/internal/needs"
)

// TestMQTTJS: clients of MQTT.js do what those of TestPahoPython do, also over WebSocket and TLS.
func TestMQTTJS(t *testing.T) {
	node := needs.Program(t, "node")
	modules, err := filepath.Abs("../../bin/mqttjs/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "mqtt")); err != nil {
		needs.Missing(t, "MQTT.js in bin/mqttjs", "make deps")
	}
	runClients(t, map[string]string{"tcp": "mqtt", "tls": "mqtts", "ws": "ws", "wss": "wss"}, func(ctx context.Context, args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, node, append([]string{"testdata/mqttjs_client.js"}, args...)...)
		c.Env = append(os.Environ(), "NODE_PATH="+modules)
		return c
	})
}

// TestPahoJava: clients of Eclipse Paho for Java do what those of TestPahoPython do, also over WebSocket and TLS.
func TestPahoJava(t *testing.T) {
	java := needs.Program(t, "java")
	needs.Program(t, "javac") // java compiles the program
	jars, err := filepath.Abs("../../bin/java")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"client.mqttv3", "mqttv5.client"} {
		if found, err := filepath.Glob(filepath.Join(jars, "org.eclipse.paho."+name+"-*.jar")); err != nil || len(found) == 0 {
			needs.Missing(t, "Paho for Java in bin/java", "make deps")
		}
	}
	runClients(t, map[string]string{"tcp": "tcp", "tls": "ssl", "ws": "ws", "wss": "wss"}, func(ctx context.Context, args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, java, append([]string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(jars, "*"), "testdata/PahoClient.java"}, args...)...)
	})
}

// runClients runs a program against listeners of all kinds, with the listener's URL and for TLS the file of its CA. schemes has the URLs' schemes.
func runClients(t *testing.T, schemes map[string]string, program func(ctx context.Context, args ...string) *exec.Cmd) {
	ca := certstest.NewCA(t, "ca")
	server := ca.Issue(t, certstest.Leaf{CommonName: "server", Names: []string{"127.0.0.1"}})
	trusted := ca.Write(t, t.TempDir(), "ca")
	for kind, scheme := range schemes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l := mqtt.ListenerConfig{WebSocket: kind == "ws" || kind == "wss"}
			if kind == "tls" || kind == "wss" {
				l.Config = edge.Config{TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{server.TLS(t)}}}
			}
			r := newRig(t, setup{streams: map[string]broker.Stored{"s": stored(t, "stored/#")}, listener: l})
			to := url.URL{Scheme: scheme, Host: r.listener.Addr().String()}
			if l.WebSocket {
				to.Path = "/mqtt"
			}
			args := []string{to.String()}
			if l.TLS != nil {
				args = append(args, trusted)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
			defer cancel()
			c := program(ctx, args...)
			var stderr bytes.Buffer // has the client's own log, too
			c.Stderr = &stderr
			if out, err := c.Output(); err != nil || string(out) != "passed 24\n" {
				t.Errorf("%v\n%s%s", err, out, &stderr)
			}
		})
	}
}

// pahoTesting runs a program of paho.mqtt.testing, which leaves its arguments to unittest otherwise, against localhost.
const pahoTesting = `import runpy, sys, unittest
main = unittest.main
unittest.main = lambda: main(argv=sys.argv[:1])
sys.argv = [sys.argv[1], "-p", sys.argv[2]]
sys.path.insert(0, sys.argv[0].rsplit("/", 1)[0])
runpy.run_path(sys.argv[0], run_name="__main__")`

// TestPahoTesting runs the suite of Eclipse's paho.mqtt.testing, if its programs are in PATH. What fails is named here, with the reason.
func TestPahoTesting(t *testing.T) {
	const grants = "the listener of this test grants all filters"
	for program, failing := range map[string]map[string]string{
		"client_test.py": {"test_subscribe_failure": grants},
		"client_test5.py": {
			"test_subscribe_failure":     grants,
			"test_subscribe_options":     "the suite publishes before its second SUBSCRIBE is acknowledged: sometimes before the subscription begins",
			"test_subscribe_identifiers": "a message comes once for each subscription, with its identifier: MQTT 5.0, section 3.3.4, allows that",
			"test_server_keep_alive":     "the keep alive of the client holds: MQTT 5.0, section 3.2.2.3.14",
		},
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(program)
			if err != nil {
				needs.Missing(t, program+" of paho.mqtt.testing in PATH", "clone github.com/eclipse/paho.mqtt.testing, and make it executable")
			}
			r := newRig(t, setup{})
			_, port, _ := net.SplitHostPort(r.listener.Addr().String())
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, needs.Program(t, "python3"), "-c", pahoTesting, path, port).CombinedOutput()
			got := map[string]bool{}
			for _, m := range regexp.MustCompile(`(?m)^(?:FAIL|ERROR): (\w+)`).FindAllStringSubmatch(string(out), -1) {
				if got[m[1]] = true; failing[m[1]] == "" {
					t.Errorf("%s fails", m[1])
				}
			}
			if !strings.Contains(string(out), "\nRan ") || (err != nil) != (len(got) > 0) {
				t.Errorf("%v", err)
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}
