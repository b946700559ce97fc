package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSetID: after SetID, a frame equals one that was written with the new id, CRC included. SetID with the first id restores
// the frame.
func TestSetID(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		m := random(r)
		before, err := Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		old := m.ID
		m.ID = r.Uint32() >> r.IntN(32)
		want, err := Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		got := append(slices.Clone(before), "what follows"...)
		f, _, err := Next(got, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		f.SetID(m.ID)
		if string(got) != string(want)+"what follows" {
			t.Fatalf("%x with id %d: got %x, want %x", before, m.ID, got, want)
		}
		f.SetID(old)
		if !bytes.Equal(got[:len(before)], before) {
			t.Fatalf("%x and back: got %x", before, got)
		}
	}
}

// TestSetIDInPieces: SetID and PatchCRC change a frame in two pieces as SetID changes the whole frame, wherever the frame is
// cut.
func TestSetIDInPieces(t *testing.T) {
	_, all := vectors(t)
	for _, v := range all {
		want := slices.Clone(v.frame)
		full := whole(t, want)
		full.SetID(0xdeadbeef)
		for cut := full.FixedLen(); cut < len(v.frame); cut++ {
			for _, step := range []int{1, 3, len(v.frame)} {
				got := slices.Clone(v.frame)
				f, _, err := Next(slices.Clip(got[:cut]), Limits{})
				if err != nil {
					t.Fatal(err)
				}
				delta := f.SetID(0xdeadbeef)
				if (delta != 0) != f.HasCRC() {
					t.Fatalf("%s: delta %#x", v.name, delta)
				}
				for at := cut; at < len(got); at += step {
					PatchCRC(got[at:min(at+step, len(got))], len(got)-at, delta)
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("%s cut at %d, then by %d: got %x, want %x", v.name, cut, step, got, want)
				}
			}
		}
	}
}

// TestPatchCRCSparesTheRest: PatchCRC does not change the bytes before and after the CRC.
func TestPatchCRCSparesTheRest(t *testing.T) {
	for left := range 10 {
		for n := range 15 {
			piece := make([]byte, n)
			PatchCRC(piece, left, 0x01020304)
			want := make([]byte, 15)
			for i, b := range []byte{1, 2, 3, 4} {
				if at := left - 4 + i; at >= 0 {
					want[at] = b
				}
			}
			if !bytes.Equal(piece, want[:n]) {
				t.Errorf("%d bytes with %d left: got %x, want %x", n, left, piece, want[:n])
			}
		}
	}
}

// TestCRCDelta compares CRCDelta with hash/crc32. The lengths are those around a carry to the next digit, and those of large
// frames.
func TestCRCDelta(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	lengths := []int{1 << 20, 1<<24 - 1, 1<<24 + 17}
	for n := 26; n < 400; n++ {
		lengths = append(lengths, n)
	}
	for _, n := range []int{4096, 65536} {
		for d := -20; d < 20; d++ {
			lengths = append(lengths, n+d)
		}
	}
	frame := make([]byte, slices.Max(lengths))
	for i := range frame {
		frame[i] = byte(r.Uint32())
	}
	for _, n := range lengths {
		from, to := r.Uint32(), r.Uint32()
		sum := func(id uint32) uint32 {
			binary.BigEndian.PutUint32(frame[6:], id)
			return crc32.ChecksumIEEE(frame[:n-4])
		}
		if got, want := CRCDelta(from, to, n), sum(from)^sum(to); got != want {
			t.Errorf("%d bytes, id %d to %d: got %08x, want %08x", n, from, to, got, want)
		}
	}
}

// TestCRCDeltaOfTheLongest computes the CRC of the longest frame from two halves, because hash/crc32 would need too long.
func TestCRCDeltaOfTheLongest(t *testing.T) {
	const n = 1<<31 - 1
	for _, split := range []int{1, 255, 65536, 1 << 30} {
		if got, want := advanceCRC(advanceCRC(0x12345678, n-split), split), advanceCRC(0x12345678, n); got != want {
			t.Errorf("%d and %d zeros: got %08x, want %08x", n-split, split, got, want)
		}
	}
	if got := CRCDelta(7, 7, n); got != 0 {
		t.Errorf("the same id: got %08x", got)
	}
}

// TestWrongStaysWrong: SetID does not repair a wrong CRC.
func TestWrongStaysWrong(t *testing.T) {
	data, err := Append(nil, Message{Dialect: V2CRC, Type: Request, Switch: SwitchCRC, Content: []byte("hello")})
	if err != nil {
		t.Fatal(err)
	}
	data[25] ^= 1
	f := whole(t, data)
	wrong := func() uint32 {
		return binary.BigEndian.Uint32(data[len(data)-4:]) ^ crc32.ChecksumIEEE(data[:len(data)-4])
	}
	before := wrong()
	f.SetID(99)
	if after := wrong(); before == 0 || after != before {
		t.Errorf("wrong by %08x before, by %08x after", before, after)
	}
	var syntax *SyntaxError
	if err := f.CheckCRC(); !errors.As(err, &syntax) || syntax.Offset != len(data)-4 || syntax.Field != "crc" {
		t.Errorf("CheckCRC: %v", err)
	}
}

func TestCheckCRC(t *testing.T) {
	for _, d := range []Dialect{V1, V2, V2CRC} {
		for _, toggles := range []uint8{0, 1, 2, 3, 127} {
			if d == V1 {
				toggles = 0
			}
			t.Run(fmt.Sprintf("%v switch %d", d, toggles), func(t *testing.T) {
				data, err := Append(nil, Message{Dialect: d, Type: Request, Switch: toggles, Content: []byte("hello")})
				if err != nil {
					t.Fatal(err)
				}
				f := whole(t, data)
				if want := d == V2CRC && toggles&1 == 1; f.HasCRC() != want || string(f.Content()) != "hello" {
					t.Errorf("HasCRC %v, want %v; content %q", f.HasCRC(), want, f.Content())
				}
				if err := f.CheckCRC(); err != nil {
					t.Error(err)
				}
				cut, _, err := Next(data[:len(data)-1], Limits{})
				if err != nil {
					t.Fatal(err)
				}
				if err := cut.CheckCRC(); f.HasCRC() != errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("cut by one byte: %v", err)
				}
			})
		}
	}
}
