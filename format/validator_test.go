package format_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/y3"
)

// counted counts the messages that Format.Validate reads.
type counted struct {
	cbor.Format
	validated *int
}

func (c counted) Validate(data []byte, o format.Options) error {
	*c.validated++
	return c.Format.Validate(data, o)
}

// reading is {"deviceName": "pump-1", "value": 31.5, "n": 7}.
var reading = []byte("\xa3\x6adeviceName\x66pump-1\x65value\xfb\x40\x3f\x80\x00\x00\x00\x00\x00\x61n\x07")

func TestValidator(t *testing.T) {
	t.Parallel()
	validated := 0
	v := format.NewValidator(counted{validated: &validated}, format.Options{})
	for i := range 1000 {
		data := bytes.Clone(reading)
		data[len(data)-1] = byte(i % 8)
		if err := v.Validate(data, 1); err != nil {
			t.Fatal(err)
		}
	}
	if validated > 5 {
		t.Errorf("of 1000 messages of one shape %d were read as if they were unknown, want at most 5", validated)
	}
	for _, bad := range []struct {
		name   string
		at     int
		change byte
	}{{"a text that is not UTF-8", 13, 0x80}, {"another head", 0, 0x01}, {"a reserved head", len(reading) - 1, 0x18}, {"a longer text", 12, 0x01}} {
		data := bytes.Clone(reading)
		data[bad.at] ^= bad.change
		if got, want := v.Validate(data, 1), (cbor.Format{}).Validate(data, format.Options{}); got == nil || got.Error() != want.Error() {
			t.Errorf("%s: got %v, want %v", bad.name, got, want)
		}
	}
	other := bytes.Replace(reading, []byte("\x65value"), []byte("\x65n\x00\x00\x00\x00"), 1)
	if v.Validate(other, 1) != nil {
		t.Error("a message with another key is not valid")
	}
}

// TestValidatorAgrees compares the Validator with Format.Validate for messages that share lengths and hints.
func TestValidatorAgrees(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	v := format.NewValidator(cbor.Format{}, format.Options{})
	valid := 0
	for range 20_000 {
		data := bytes.Clone(reading)
		for range r.IntN(3) {
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		}
		got, want := v.Validate(data, 0), (cbor.Format{}).Validate(data, format.Options{})
		if (got == nil) != (want == nil) {
			t.Fatalf("got %v, want %v\n% x", got, want, data)
		}
		if want == nil {
			valid++
		}
	}
	if valid < 1000 || valid > 19_000 {
		t.Errorf("%d of 20000 messages are valid: the test compares too little", valid)
	}
}

// TestValidatorOfOthers: formats that are no Masker, and messages that are too short or long for a shape.
func TestValidatorOfOthers(t *testing.T) {
	t.Parallel()
	if err := format.NewValidator(y3.Format{}, format.Options{}).Validate([]byte{0x80 | 0x40}, 0); err == nil {
		t.Error("half a Y3 packet is valid")
	}
	v := format.NewValidator(cbor.Format{}, format.Options{})
	for _, n := range []int{0, 1, 15, 4<<10 + 1} {
		data := bytes.Repeat([]byte{0}, n)
		got, want := v.Validate(data, 0), (cbor.Format{}).Validate(data, format.Options{})
		if (got == nil) != (want == nil) {
			t.Errorf("%d bytes: got %v, want %v", n, got, want)
		}
	}
}

// TestValidatorGivesUp: traffic without a common shape is seldom compared and learned.
func TestValidatorGivesUp(t *testing.T) {
	t.Parallel()
	masked := 0
	v := format.NewValidator(maskCounter{masked: &masked}, format.Options{})
	for i := range 10_000 {
		data := append([]byte("\x61a\x52"), bytes.Repeat([]byte{byte(i)}, 18)...) // the key differs
		data[1] = byte('a' + i%26)
		if err := v.Validate(append([]byte{0xa1}, data...), 0); err != nil {
			t.Fatal(err)
		}
	}
	if masked > 60 {
		t.Errorf("learned %d of 10000 messages without a common shape, want at most 60", masked)
	}
}

type maskCounter struct {
	cbor.Format
	masked *int
}

func (m maskCounter) Mask(mask, data []byte) bool {
	*m.masked++
	return m.Format.Mask(mask, data)
}

// FuzzValidator compares the Validator with Format.Validate for a message that shares many bytes with one whose shape is stored.
func FuzzValidator(f *testing.F) {
	f.Add(reading, []byte{0xff}, uint16(13))
	f.Add([]byte("\xa2\x6adeviceName\x7f\x61a\x62\xc3\xa9\xff\x62id\xc1\x38\x64"), []byte("\x7f\x62\xc3\xa9"), uint16(13))
	f.Add([]byte("\xbf\x61a\x9f\xf4\xf8\x20\xf9\x00\x00\xff\x61b\x45hello\xff"), []byte("\xf8\x1f"), uint16(5))
	f.Fuzz(func(t *testing.T, base, change []byte, at uint16) {
		if len(base) == 0 {
			return
		}
		other := bytes.Clone(base)
		copy(other[int(at)%len(other):], change)
		v := format.NewValidator(cbor.Format{}, format.Options{})
		for i, data := range [][]byte{base, base, base, other, change, base, other} { // after the second one the shape of base is known
			got, want := v.Validate(data, 0), (cbor.Format{}).Validate(data, format.Options{})
			if (got == nil) != (want == nil) || got != nil && got.Error() != want.Error() {
				t.Fatalf("message %d: got %v, want %v\n% x", i, got, want, data)
			}
		}
	})
}
