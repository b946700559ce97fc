package http2

import (
	"slices"
	"testing"
)

// TestHeadField: a head that is forwarded keeps its fields, and the sensitive ones stay so, also in a copy.
func TestHeadField(t *testing.T) {
	t.Parallel()
	block := slices.Concat(
		fieldBlockOf(getLines...), fieldBlockOf("user-agent: a", "x-plain: b", "te: trailers"),
		[]byte{neverIndexing, 8, 'x', '-', 's', 'e', 'c', 'r', 'e', 't', 1, 'c'},
		[]byte{neverIndexing | 15, 6, 1, 'd'}, // age
	)
	d, cfg := newDecoder(4096)
	h := headPool.Get().(*Head)
	defer h.release()
	h.begin(requestBlock, cfg, false)
	if reason := d.decode(block, h); reason != "" || h.finish() != "" {
		t.Fatal(reason, h.judge.malformed)
	}
	var copied Head
	if err := copied.View(h.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	for name, head := range map[string]*Head{"original": h, "copy": &copied} {
		if string(head.Method) != "GET" || string(head.Path) != "/" || string(head.Authority) != "a" || head.ContentLength != -1 || head.Len() != 5 {
			t.Errorf("%s: %q", name, fieldsOf(head))
		}
		var want []string
		for i := range head.Len() {
			name, value := head.Field(i)
			want = append(want, string(name)+": "+string(value))
			if got := head.Sensitive(i); got != (i >= 3) {
				t.Errorf("%s is sensitive: %v", name, got)
			}
		}
		out := &memoryOutput{}
		c := NewClient(nil, newRecorder(), out)
		out.take(out.size)
		e := c.Open().BeginHeaders()
		for i := range head.Len() {
			e.HeadField(head, i)
		}
		e.End(true)
		d, cfg := newDecoder(4096)
		got := new(Head)
		got.begin(trailersBlock, cfg, false)
		if reason := d.decode(blockOf(out.take(out.size)), got); reason != "" || !slices.Equal(fieldsOf(got), want) {
			t.Errorf("%s: %s %q, want %q", name, reason, fieldsOf(got), want)
		}
		if !got.Sensitive(3) || !got.Sensitive(4) || d.table.count != 2 {
			t.Errorf("%s: the sensitive fields are not, or of %d entries one is", name, d.table.count)
		}
	}
}

func fieldsOf(h *Head) (lines []string) {
	for name, value := range h.All {
		lines = append(lines, string(name)+": "+string(value))
	}
	return lines
}

// TestEncoderLeavesOut: fields that HTTP/2 does not have are not written, and names are written in lower case.
func TestEncoderLeavesOut(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, nil)
	s := r.conn.Open()
	e := s.BeginHeaders()
	e.Method([]byte("PUT"))
	e.Scheme([]byte("https"))
	e.Authority([]byte("a"))
	e.Path([]byte("/a?b"))
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade"} {
		e.Field([]byte(name), []byte("x"))
		e.Sensitive([]byte(name), []byte("x"))
	}
	e.FieldString("TE", "gzip")
	e.FieldString("Te", "Trailers")
	e.FieldString("X-UPPER", "Value")
	e.Field([]byte("Cookie"), []byte("secret"))
	e.Sensitive([]byte("X-Secret"), []byte("y"))
	e.End(true)
	d, cfg := newDecoder(4096)
	h := new(Head)
	h.begin(requestBlock, cfg, false)
	if reason := d.decode(blockOf(r.out.take(r.out.size)), h); reason != "" || h.finish() != "" {
		t.Fatal(reason, h.judge.malformed)
	}
	if got, want := fieldsOf(h), []string{"te: Trailers", "x-upper: Value", "cookie: secret", "x-secret: y"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if string(h.Path) != "/a?b" || !h.Sensitive(2) || !h.Sensitive(3) || h.Sensitive(1) {
		t.Errorf("path %q, sensitive %v %v %v", h.Path, h.Sensitive(1), h.Sensitive(2), h.Sensitive(3))
	}
}

// TestRepeatedValues: a value that repeats is indexed; a name whose value changes each time is not, until its value is constant.
func TestRepeatedValues(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, nil)
	size := func(value string) int {
		s := r.conn.Open()
		defer s.Release()
		e := s.BeginHeaders()
		e.FieldString("user-agent", value)
		e.End(true)
		return len(blockOf(r.out.take(r.out.size)))
	}
	size("constant")
	if n := size("constant"); n != 1 {
		t.Errorf("a repeated value takes %d bytes", n)
	}
	for i := range 20 {
		size(string(rune('a' + i)))
	}
	if got := r.conn.encoder.table.inserted; got > 6 {
		t.Errorf("%d insertions of values that change", got)
	}
	for range 300 {
		size("constant")
	}
	if n := size("constant"); n != 1 {
		t.Errorf("a value that is constant again takes %d bytes", n)
	}
}
