package mqtt_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/internal/needs"
	wire "example.com/ferry/protocol/mqtt"
)

// TestPahoPython: clients of paho-mqtt for Python publish and subscribe with each QoS, and use retained messages, wills, sessions and
// shared subscriptions, on tags that are routed and on ones that are stored.
func TestPahoPython(t *testing.T) {
	python, err := filepath.Abs("../../bin/python/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(python, "-c", "import paho.mqtt").Run(); err != nil {
		needs.Missing(t, "paho-mqtt for Python in bin/python", "make deps")
	}
	for _, v := range versions {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{streams: map[string]broker.Stored{"s": stored(t, "stored/#")}})
			ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
			defer cancel()
			host, port, _ := net.SplitHostPort(r.listener.Addr().String())
			out, err := exec.CommandContext(ctx, python, "testdata/paho_client.py", host, port, fmt.Sprint(byte(v))).CombinedOutput()
			want := "passed 5\n"
			if v == wire.V5 {
				want = "passed 6\n"
			}
			if err != nil || string(out) != want {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
