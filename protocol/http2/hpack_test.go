package http2

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// newDecoder returns a decoder and a Config that accepts long blocks.
func newDecoder(size int) (*decoder, *Config) {
	d := new(decoder)
	d.table.max, d.table.limit = size, size
	cfg := (&Config{MaxHeader: 1 << 20, MaxFields: 1 << 14}).withDefaults()
	return d, &cfg
}

// fieldLines decodes a block and returns its fields, pseudo-header fields first, and the reason if the block cannot be decoded.
func fieldLines(d *decoder, cfg *Config, block []byte, kind blockKind) (lines []string, h *Head, reason string) {
	h = new(Head)
	h.begin(kind, cfg, true)
	if reason = d.decode(block, h); reason != "" {
		return nil, h, reason
	}
	for _, p := range []struct {
		name  string
		value []byte
		id    nameID
	}{
		{":status", fmt.Append(nil, h.Status), nameStatus},
		{":method", h.Method, nameMethod},
		{":scheme", h.Scheme, nameScheme},
		{":path", h.Path, namePath},
		{":authority", h.Authority, nameAuthority},
		{":protocol", h.Protocol, nameProtocol},
	} {
		if h.judge.has(p.id) {
			lines = append(lines, p.name+": "+string(p.value))
		}
	}
	for name, value := range h.All {
		lines = append(lines, string(name)+": "+string(value))
	}
	return lines, h, ""
}

// tableLines returns the entries of the dynamic table, the newest first.
func tableLines(t *dynamicTable) (lines []string) {
	for i := 1; i <= t.count; i++ {
		e := t.at(i)
		lines = append(lines, string(t.name(e))+": "+string(t.value(e)))
	}
	return lines
}

// TestRFC7541 decodes all blocks of RFC 7541, appendix C, and compares the fields and the dynamic table.
func TestRFC7541(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/rfc7541.txt")
	if err != nil {
		t.Fatal(err)
	}
	var d *decoder
	var cfg *Config
	sections := 0
	for section := range strings.SplitSeq(string(text), "\n\n") {
		lines := strings.Split(strings.TrimSpace(section), "\n")
		if strings.HasPrefix(lines[0], "#") {
			continue
		}
		sections++
		var name string
		var size, tableSize int
		_, _ = fmt.Sscan(lines[0], &name, &size)
		if strings.HasSuffix(name, ".1") || strings.HasPrefix(name, "C.2.") {
			d, cfg = newDecoder(size)
		}
		at := slices.Index(lines, "fields")
		table := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "table ") })
		_, _ = fmt.Sscanf(lines[table], "table %d", &tableSize)
		block, err := hex.DecodeString(strings.Join(lines[1:at], ""))
		if err != nil {
			t.Fatal(err)
		}
		kind := requestBlock
		if strings.HasPrefix(name, "C.5") || strings.HasPrefix(name, "C.6") {
			kind = responseBlock
		}
		got, _, reason := fieldLines(d, cfg, block, kind)
		if want := lines[at+1 : table]; reason != "" || !slices.Equal(got, want) {
			t.Errorf("%s: got %q %s, want %q", name, got, reason, want)
		}
		if got, want := tableLines(&d.table), lines[table+1:]; !slices.Equal(got, want) || d.table.size != tableSize {
			t.Errorf("%s: table %q of %d bytes, want %q of %d", name, got, d.table.size, want, tableSize)
		}
	}
	if sections != 16 {
		t.Errorf("%d sections, want 16", sections)
	}
}

// TestIntegers has the examples of RFC 7541, appendix C.1, and integers that are too large or end early.
func TestIntegers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		coded  string
		prefix uint
		want   int
	}{
		{"0a", 5, 10},
		{"1f9a0a", 5, 1337},
		{"2a", 8, 42},
		{"7f00", 7, 127},
		{"7fffffff7f", 7, 127 + 1<<28 - 1},
	} {
		coded, _ := hex.DecodeString(row.coded)
		got, rest := readInteger(coded, row.prefix)
		if got != row.want || rest == nil || len(rest) > 0 {
			t.Errorf("%s: got %d and %x, want %d", row.coded, got, rest, row.want)
		}
		if again := appendInteger(nil, 0, row.prefix, got); !bytes.Equal(again, coded) {
			t.Errorf("%d is written as %x, want %x", got, again, coded)
		}
	}
	for _, coded := range []string{"1f", "1f80", "1fffffffffff0f", "1f8080808001"} {
		p, _ := hex.DecodeString(coded)
		if n, rest := readInteger(p, 5); rest != nil {
			t.Errorf("%s: got %d", coded, n)
		}
	}
}

// TestHuffman compares the decoder with the reference: all strings of two bytes, random ones, and wrong padding.
func TestHuffman(t *testing.T) {
	t.Parallel()
	check := func(s string) {
		t.Helper()
		coded := hpack.AppendHuffmanString(nil, s)
		if got, ok := appendHuffman([]byte("a"), coded); !ok || string(got) != "a"+s {
			t.Fatalf("%q: got %q, %v", s, got, ok)
		}
	}
	for i := range 1 << 16 {
		check(string([]byte{byte(i >> 8), byte(i)}))
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b := make([]byte, rnd.IntN(100))
		for i := range b {
			b[i] = byte(rnd.Uint32())
			if rnd.IntN(4) > 0 {
				b[i] = 0x20 + b[i]%0x5f
			}
		}
		check(string(b))
	}
	for range 20000 {
		b := make([]byte, rnd.IntN(12))
		for i := range b {
			b[i] = byte(rnd.Uint32() | rnd.Uint32()) // many ones, so padding and EOS occur
		}
		want, err := hpack.HuffmanDecodeToString(b)
		got, ok := appendHuffman(nil, b)
		if ok != (err == nil) || ok && string(got) != want {
			t.Fatalf("%x: got %q, %v; the reference %q, %v", b, got, ok, want, err)
		}
	}
}

// TestNames checks that the hash of known names has no collision and that the static table is that of the reference.
func TestNames(t *testing.T) {
	t.Parallel()
	for id := nameOther + 1; id < nameCount; id++ {
		for _, name := range []string{names[id].text, strings.ToUpper(names[id].text)} {
			if got := nameIDOf(name); got != id {
				t.Errorf("%s has the ID %d, want %d", name, got, id)
			}
		}
		if got := nameIDOf(names[id].text + "x"); got != nameOther {
			t.Errorf("%sx has the ID %d", names[id].text, got)
		}
	}
	for i := 1; i <= staticCount; i++ {
		d := hpack.NewDecoder(0, nil)
		f, err := d.DecodeFull([]byte{0x80 | byte(i)})
		if err != nil {
			t.Fatal(err)
		}
		e := staticEntries[i]
		if f[0].Name != names[e.id].text || f[0].Value != e.value {
			t.Errorf("static entry %d is %s: %s, want %v", i, names[e.id].text, e.value, f[0])
		}
		if first := int(names[e.id].static); first == 0 || first > i || staticEntries[first].id != e.id {
			t.Errorf("the first static entry of %s is %d", names[e.id].text, first)
		}
	}
}

// TestTableMemory: a peer that fills the table again and again cannot make it larger than the bound in doc.go.
func TestTableMemory(t *testing.T) {
	t.Parallel()
	d, cfg := newDecoder(4096)
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		var lines []string
		for range rnd.IntN(30) {
			lines = append(lines, "x: "+strings.Repeat("y", rnd.IntN(1<<rnd.IntN(12))))
		}
		if _, _, reason := fieldLines(d, cfg, indexedBlockOf(lines...), trailersBlock); reason != "" {
			t.Fatal(reason)
		}
		arenas := cap(d.table.arena) + cap(d.table.spare)
		if entries := len(d.table.ring); arenas > 16<<10 || entries > 128 {
			t.Fatalf("arenas of %d bytes, room for %d entries", arenas, entries)
		}
	}
}
