package hop_test

import (
	"bufio"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"example.com/ferry/stream/hop"
)

// TestSessionOfTheSpecification plays the client of the session in docs/native.md and compares what the node sends.
func TestSessionOfTheSpecification(t *testing.T) {
	known, err := hop.NewIdentities([]hop.Credential{{
		Identity:  hop.Identity{Name: "pump", Publish: []string{"sensors/#"}, Subscribe: []string{"sensors/#"}},
		TokenHash: hop.HashToken([]byte("t0k")),
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, addr := serve(t, hop.Config{Identify: known.Identify})
	p := connect(t, addr)
	file, err := os.Open("../../protocol/native/testdata/session.txt")
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
		if got := hex.EncodeToString(p.read()); got != line {
			t.Fatalf("%s:\ngot  %s\nwant %s", title, got, line)
		}
	}
	if got := p.read(); got != nil {
		t.Errorf("behind the last frame the node sent %x, want the end of the connection", got)
	}
}
