package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestCut: Next on a cut frame either needs more bytes, at most the fixed header, or returns a Frame with the part that has
// arrived.
func TestCut(t *testing.T) {
	_, all := vectors(t)
	for _, v := range all {
		full := whole(t, v.frame)
		for n := range v.frame {
			cut := slices.Clip(v.frame[:n])
			f, need, err := Next(cut, Limits{})
			if err != nil {
				t.Fatalf("%s cut at %d: %v", v.name, n, err)
			}
			if n < full.FixedLen() {
				if need <= n || need > full.FixedLen() || need < minFixed || need%2 != 0 {
					t.Errorf("%s cut at %d: need %d, want the length of a header that it may yet be: at most %d", v.name, n, need, full.FixedLen())
				}
				continue
			}
			if need != 0 || f.FrameLen() != full.FrameLen() || f.HeadLen() != full.HeadLen() || f.ContentLen() != full.ContentLen() {
				t.Errorf("%s cut at %d: need %d, %d bytes, content of %d", v.name, n, need, f.FrameLen(), f.ContentLen())
			}
			if n < full.HeadLen() && f.HeadLen() > f.FixedLen()+f.ClassLen() && f.Header() != nil {
				t.Errorf("%s cut at %d: header %x before it has arrived", v.name, n, f.Header())
			}
			if n >= full.HeadLen() && (!bytes.Equal(f.Class(), full.Class()) || !bytes.Equal(f.Header(), full.Header())) {
				t.Errorf("%s cut at %d: class %q, header %x", v.name, n, f.Class(), f.Header())
			}
			if want := full.Content()[:min(max(n-full.HeadLen(), 0), full.ContentLen())]; !bytes.Equal(f.Content(), want) {
				t.Errorf("%s cut at %d: content %q, want %q", v.name, n, f.Content(), want)
			}
		}
	}
}

// TestNeed: Next makes progress when it has as many bytes as it needed.
func TestNeed(t *testing.T) {
	_, all := vectors(t)
	for _, v := range all {
		n, steps := 0, 0
		for f, need, err := Next(nil, Limits{}); need != 0; f, need, err = Next(v.frame[:n], Limits{}) {
			if err != nil || f.FrameLen() != 0 || need <= n {
				t.Fatalf("%s: at %d bytes need %d, %v", v.name, n, need, err)
			}
			n = need
			steps++
		}
		if n != whole(t, v.frame).FixedLen() || steps > 3 {
			t.Errorf("%s: %d steps to %d bytes", v.name, steps, n)
		}
	}
}

// TestStream: Next finds each of several consecutive frames. No Frame contains bytes of the next frame.
func TestStream(t *testing.T) {
	_, all := vectors(t)
	var stream []byte
	for _, v := range all {
		stream = append(stream, v.frame...)
	}
	for i, rest := 0, stream; len(rest) > 0; i++ {
		f, need, err := Next(rest, Limits{})
		if err != nil || need != 0 || !bytes.Equal(f.data, all[i].frame) || cap(f.data) != len(f.data) {
			t.Fatalf("frame %d: got %x, need %d, %v, want %x", i, f.data, need, err, all[i].frame)
		}
		rest = rest[f.FrameLen():]
	}
}

func TestRefused(t *testing.T) {
	v1 := func(tail ...byte) []byte { // a request that ends in these eight bytes: the three lengths
		return append([]byte{1, 1, 0, 1, 1, 0, 0, 0, 9, 1, 0, 0, 0, 100}, tail...)
	}
	v2 := func(toggles byte, tail ...byte) []byte { // a response that ends in these eight bytes: the three lengths
		return append([]byte{2, 2, 0, 0, 2, 1, 0, 0, 0, 9, 1, toggles, 0, 0}, tail...)
	}
	rows := []struct {
		name   string
		data   []byte
		limits Limits
		offset int
		field  string
		reason string
	}{
		{"HTTP", []byte("GET / HTTP/1.1\r\n"), Limits{}, 0, "protocol", "71 where"},
		{"protocol 0", []byte{0}, Limits{}, 0, "protocol", "0 where"},
		{"protocol 3", []byte{3}, Limits{}, 0, "protocol", "3 where"},
		{"ver1 0", []byte{2, 0}, Limits{}, 1, "ver1", "0 where"},
		{"ver1 3", []byte{2, 3}, Limits{}, 1, "ver1", "3 where"},
		{"type in v1", []byte{1, 3}, Limits{}, 1, "type", "3 where"},
		{"type in v2", []byte{2, 1, 255}, Limits{}, 2, "type", "255 where"},
		{"v2 after v1", []byte{2, 1}, Limits{Dialect: V1}, 1, "dialect", "v2 on a connection that began with v1"},
		{"v1 after v2", []byte{1}, Limits{Dialect: V2}, 0, "dialect", "v1 on a connection that began with v2"},
		{"CRC after v2", []byte{2, 2}, Limits{Dialect: V2}, 1, "dialect", "v2 with CRC on a connection that began with v2"},
		{"class", v1(0x80, 0, 0, 0, 0, 0, 0, 0), Limits{}, 14, "class length", "32768 bytes"},
		{"header", v1(0, 0, 0xff, 0xff, 0, 0, 0, 0), Limits{}, 16, "header length", "65535 bytes"},
		{"content -1", v1(0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff), Limits{MaxFrame: math.MaxInt}, 18, "content length", "4294967317 bytes"},
		{"content -1 in v2", v2(1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff), Limits{}, 18, "content length", "4294967321 bytes"},
		{"the sum of the lengths", v1(0x7f, 0xff, 0x7f, 0xff, 0x7f, 0xff, 0xff, 0xff), Limits{MaxFrame: math.MaxInt32}, 18, "content length", "2147549203 bytes"},
		{"switch", v2(0x80, 0, 0, 0, 0, 0, 0, 0, 0), Limits{}, 11, "switch", "128"},
		{"default frame limit", v1(0, 0, 0, 0, 4, 0, 0, 0), Limits{}, 18, "frame", "67108886 bytes: at most 67108864"},
		{"frame limit", v1(0, 0, 0, 0, 0, 0, 0, 100), Limits{MaxFrame: 121}, 18, "frame", "122 bytes: at most 121"},
		{"head limit", v1(0, 10, 0, 20, 0, 0, 0, 0), Limits{MaxHead: 51}, 14, "head", "52 bytes before the content: at most 51"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f, need, err := Next(row.data, row.limits)
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || need != 0 || syntax.Offset != row.offset || syntax.Field != row.field || !strings.Contains(syntax.Reason, row.reason) {
				t.Fatalf("got %v, need %d, want %s at offset %d, %s", err, need, row.field, row.offset, row.reason)
			}
			for n := range row.data[:min(row.offset, len(row.data))] {
				if _, _, err := Next(row.data[:n], row.limits); err != nil {
					t.Errorf("cut at %d: %v", n, err)
				}
			}
			if len(row.data) < 22 {
				return
			}
			if f.ID() != 9 || f.Header() != nil && len(f.Header()) != 0 || len(f.Class()) != 0 || f.ContentLen() != 0 || f.Content() != nil {
				t.Errorf("with the error came id %d, header %x, content of %d", f.ID(), f.Header(), f.ContentLen())
			}
		})
	}
}

// TestAtTheLimits: a length equal to the limit is accepted.
func TestAtTheLimits(t *testing.T) {
	m := Message{Dialect: V2CRC, Type: Request, Switch: SwitchCRC, Class: strings.Repeat("c", MaxLength), Header: make(Header, MaxLength), Content: make([]byte, 7)}
	data, err := Append(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	limits := Limits{MaxFrame: len(data), MaxHead: MaxFixed + 2*MaxLength, Dialect: V2CRC}
	f, need, err := Next(data, limits)
	if err != nil || need != 0 || f.FrameLen() != len(data) || f.HeadLen() != limits.MaxHead || f.ContentLen() != 7 {
		t.Errorf("got %d bytes, need %d, %v", f.FrameLen(), need, err)
	}
	for _, l := range []Limits{{MaxFrame: limits.MaxFrame - 1}, {MaxHead: limits.MaxHead - 1}} {
		if _, _, err := Next(data, l); err == nil {
			t.Errorf("%+v: accepted", l)
		}
	}
	greatest := binary.BigEndian.AppendUint32(slices.Clone(data[:MaxFixed-4]), math.MaxInt32-MaxFixed-2*MaxLength-crcLen)
	if f, _, err := Next(greatest, Limits{MaxFrame: math.MaxInt32}); err != nil || f.FrameLen() != math.MaxInt32 {
		t.Errorf("the longest frame: %d bytes, %v", f.FrameLen(), err)
	}
}

// TestUnknownCommand: Next accepts unknown commands.
func TestUnknownCommand(t *testing.T) {
	data, err := Append(nil, Message{Dialect: V1, Type: Request, Command: 4711})
	if err != nil {
		t.Fatal(err)
	}
	if got := whole(t, data).Command(); got != 4711 || got.String() != "command 4711" {
		t.Errorf("got %v", got)
	}
}

func TestNames(t *testing.T) {
	rows := map[string]string{
		V1.String(): "v1", V2.String(): "v2", V2CRC.String(): "v2 with CRC", Dialect(0x0305).String(): "dialect 0x0305",
		Response.String(): "response", Request.String(): "request", Oneway.String(): "oneway", Type(9).String(): "type 9",
		CommandHeartbeat.String(): "heartbeat", CommandGoaway.String(): "goaway",
		StatusNoProcessor.String(): "no processor", StatusClosed.String(): "connection closed",
		StatusDeserial.String(): "server deserial exception", Status(0xf).String(): "status 0xf", Status(0x13).String(): "status 0x13",
	}
	for got, want := range rows {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	_, all := vectors(t)
	n := testing.AllocsPerRun(100, func() {
		for _, v := range all {
			f, need, err := Next(v.frame, Limits{})
			if err != nil || need != 0 {
				t.Fatal(need, err)
			}
			_, _, err = f.Header().Lookup(Service)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range f.Header().All() {
				if err != nil {
					t.Fatal(err)
				}
			}
			f.SetID(f.ID() + 1)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
