package broker_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
	"example.com/ferry/protocol/native/conformance"
)

// TestConformance proves the broker: it runs all cases for nodes.
func TestConformance(t *testing.T) {
	known, err := broker.NewIdentities([]broker.Credential{{
		Identity: broker.Identity{
			Name: "kit", Publish: []string{"conformance/#", "orders/#"}, Subscribe: []string{"conformance/#", "orders/#"},
			Call: []string{"conformance.*"}, Serve: []string{"conformance.*"},
		},
		TokenHash: broker.HashToken([]byte("t0k")),
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, addr := serve(t, broker.Config{
		Identify: known.Identify, Node: "hub", Formats: []format.Format{json.Format{}},
		Stored: []broker.Stored{openStream(t, newEngine(t), "orders", "orders/#")},
	})
	results := conformance.Node(t.Context(), conformance.NodeConfig{
		Options: conformance.Options{Timeout: time.Minute}, // of a busy machine
		Dial:    func(context.Context) (io.ReadWriteCloser, error) { return net.Dial("tcp", addr) },
		Token:   []byte("t0k"), Stored: "orders", Forbidden: "secret", Salt: "1",
	})
	if len(results) != len(conformance.NodeCases()) {
		t.Errorf("%d of %d cases ran", len(results), len(conformance.NodeCases()))
	}
	for _, r := range results {
		if r.Verdict != conformance.Pass {
			t.Error(r)
		}
	}
}
