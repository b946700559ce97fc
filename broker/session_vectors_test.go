package broker_test

import (
	"bufio"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/protocol/native"
)

// TestSessionsOfTheSpecification plays the clients of the sessions in docs/native.md and compares what the node sends.
func TestSessionsOfTheSpecification(t *testing.T) {
	known, err := broker.NewIdentities([]broker.Credential{{
		Identity:  broker.Identity{Name: "pump", Publish: []string{"#"}, Subscribe: []string{"sensors/#", "orders/#"}, Forward: true, TrustValidation: true},
		TokenHash: broker.HashToken([]byte("t0k")),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"session.txt", "stored.txt", "forward.txt"} {
		t.Run(file, func(t *testing.T) {
			_, addr := serve(t, broker.Config{
				Identify: known.Identify, Node: "hub", Formats: []format.Format{cbor.Format{}, json.Format{}},
				Stored: []broker.Stored{openStream(t, newEngine(t), "orders", "orders/#")},
			})
			play(t, connect(t, addr), file)
		})
	}
}

func play(t *testing.T, p *peer, name string) {
	t.Helper()
	file, err := os.Open("../protocol/native/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	title := ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if text, ok := strings.CutPrefix(line, "# "); ok {
			title = text
			continue
		}
		frame, err := hex.DecodeString(line)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(title, "client: ") {
			p.write(frame)
			continue
		}
		f := p.read()
		if f != nil && f.Kind() == native.Welcome { // the sessions are those of a node without calls
			w, err := native.ParseWelcome(f)
			if err != nil {
				t.Fatal(err)
			}
			w.Limits = native.CallLimits{}
			f = native.AppendWelcome(nil, w)
		}
		if got := hex.EncodeToString(f); got != line {
			t.Fatalf("%s:\ngot  %s\nwant %s", title, got, line)
		}
	}
	if got := p.read(); got != nil {
		t.Errorf("behind the last frame the node sent %x, want the end of the connection", got)
	}
}
