package mqtt

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what stands below the dashes in testdata/vectors.txt")

// vector is one block of testdata/vectors.txt.
type vector struct {
	name    string
	version Version
	limits  Limits
	packet  []byte
	want    string
}

func vectors(t testing.TB) (head string, all []vector) {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(strings.TrimSpace(string(raw)), "\n# ")
	for _, block := range blocks[1:] {
		lines := strings.SplitN(strings.TrimSpace(block)+"\n", "\n", 4)
		if len(lines) != 4 || lines[2] != "--" {
			t.Fatalf("not a vector: %q", block)
		}
		packet, err := hex.DecodeString(strings.ReplaceAll(lines[1], " ", ""))
		if err != nil {
			t.Fatalf("%s: %v", lines[0], err)
		}
		v := vector{name: lines[0], packet: packet, want: strings.TrimSpace(lines[3])}
		var version, sender string
		if _, err := fmt.Sscanf(v.name, "%s %s", &version, &sender); err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		switch version {
		case "3.1.1":
			v.version = V311
		case "5.0":
			v.version = V5
		default:
			t.Fatalf("%s: version %q", v.name, version)
		}
		v.limits.FromServer = sender == "server:"
		if Kind(packet[0]>>4) != Connect {
			v.limits.Version = v.version
		}
		all = append(all, v)
	}
	return strings.TrimSpace(blocks[0]), all
}

func TestVectors(t *testing.T) {
	head, all := vectors(t)
	var b strings.Builder
	fmt.Fprintln(&b, head)
	kinds := map[Kind]bool{}
	for _, v := range all {
		p, packet := whole(t, v.packet, v.limits)
		kinds[p.Kind] = true
		got := describe(packet)
		fmt.Fprintf(&b, "\n# %s\n%x\n--\n%s\n", v.name, v.packet, got)
		if got != v.want && !*update {
			t.Errorf("%s: got\n%s\nwant\n%s", v.name, got, v.want)
		}
		if again := write(t, []byte("before"), v.version, packet); string(again) != "before"+string(v.packet) {
			t.Errorf("%s: written again: got %x, want %x", v.name, again[len("before"):], v.packet)
		}
		if m, ok := packet.(PublishPacket); ok && PublishSize(v.version, &m) != len(v.packet) {
			t.Errorf("%s: PublishSize is %d, want %d", v.name, PublishSize(v.version, &m), len(v.packet))
		}
	}
	if len(kinds) != 15 {
		t.Errorf("the vectors have %d of 15 kinds", len(kinds))
	}
	if *update {
		if err := os.WriteFile("testdata/vectors.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCut cuts each vector at every byte. The start of a packet is incomplete, never wrong. A body that is cut is refused, or is
// a shorter packet of its own.
func TestCut(t *testing.T) {
	_, all := vectors(t)
	for _, v := range all {
		for n := range v.packet {
			p, need, err := Next(v.packet[:n:n], v.limits)
			if err != nil || need <= n || need > len(v.packet) && n > 4 || p.Body != nil {
				t.Errorf("%s: the first %d bytes: need %d, %v", v.name, n, need, err)
			}
		}
		p, _ := whole(t, v.packet, v.limits)
		for n := range p.Body {
			cut := p
			cut.Body = p.Body[:n:n]
			packet, err := parse(cut)
			if err != nil {
				asError(t, err)
				continue
			}
			again := write(t, nil, v.version, packet)
			if _, got := whole(t, again, v.limits); describe(got) != describe(packet) || len(again) > n+2 {
				t.Errorf("%s: a body of %d bytes is read as %s, and then as %s", v.name, n, describe(packet), describe(got))
			}
		}
	}
}

// TestVarint has the bounds of section 1.5.5, table 1-1.
func TestVarint(t *testing.T) {
	for _, row := range []struct {
		v    int
		want string
	}{
		{0, "00"}, {127, "7f"}, {128, "8001"}, {16383, "ff7f"}, {16384, "808001"}, {2097151, "ffff7f"}, {2097152, "80808001"}, {268435455, "ffffff7f"},
	} {
		b := appendVarint(nil, row.v)
		if hex.EncodeToString(b) != row.want || varintSize(row.v) != len(b) {
			t.Errorf("%d: got %x of %d bytes, want %s", row.v, b, varintSize(row.v), row.want)
		}
		if v, n := varint(b); v != row.v || n != len(b) {
			t.Errorf("%x: got %d of %d bytes, want %d of %d", b, v, n, row.v, len(b))
		}
		for i := range b {
			if _, n := varint(b[:i]); n != 0 {
				t.Errorf("%x: size %d, want 0", b[:i], n)
			}
		}
	}
	if _, n := varint([]byte{0x80, 0x80, 0x80, 0x80, 0x01}); n != -1 {
		t.Errorf("five bytes: size %d, want -1", n)
	}
}
