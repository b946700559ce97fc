package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// reference is a frame that was decoded field by field. Its fields are copies.
type reference struct {
	Message
	ver2   uint8
	crc    uint32
	hasCRC bool
	size   int
}

var errReference = errors.New("not a frame")

// decode decodes the frame at the start of data. It shares no code with Next.
func decode(data []byte) (reference, error) {
	var (
		m                                  reference
		r                                  = bytes.NewReader(data)
		protocol, ver1, kind, toggles      uint8
		command, status, class, headerSize uint16
		content                            uint32
		timeout                            int32
		failed                             error
	)
	read := func(values ...any) {
		for _, v := range values {
			if failed == nil {
				failed = binary.Read(r, binary.BigEndian, v)
			}
		}
	}
	read(&protocol)
	switch {
	case failed != nil:
		return m, failed
	case protocol == 1:
		m.Dialect = V1
	case protocol == 2:
		read(&ver1)
		switch {
		case failed != nil:
			return m, failed
		case ver1 == 1:
			m.Dialect = V2
		case ver1 == 2:
			m.Dialect = V2CRC
		default:
			return m, errReference
		}
	default:
		return m, errReference
	}
	read(&kind)
	if failed == nil && kind > 2 {
		return m, errReference
	}
	read(&command, &m.ver2, &m.ID, &m.Codec)
	if protocol == 2 {
		read(&toggles)
	}
	if kind == 0 {
		read(&status)
	} else {
		read(&timeout)
	}
	read(&class, &headerSize, &content)
	if failed != nil {
		return m, failed
	}
	if class > 32767 || headerSize > 32767 || content > DefaultMaxFrame || toggles > 127 {
		return m, errReference
	}
	m.Type, m.Command, m.Status, m.Switch = Type(kind), Command(command), Status(status), toggles
	m.Timeout = time.Duration(timeout) * time.Millisecond
	m.hasCRC = ver1 == 2 && toggles%2 == 1
	head := len(data) - r.Len()
	m.size = head + int(class) + int(headerSize) + int(content)
	if m.hasCRC {
		m.size += 4
	}
	if m.size > DefaultMaxFrame {
		return m, errReference
	}
	if m.size > len(data) {
		return m, io.ErrUnexpectedEOF
	}
	classBytes := make([]byte, class)
	m.Header, m.Content = make([]byte, headerSize), make([]byte, content)
	read(classBytes, []byte(m.Header), m.Content)
	m.Class = string(classBytes)
	if m.hasCRC {
		read(&m.crc)
	}
	return m, failed
}

// compare compares Next with the reference decoder.
func compare(t *testing.T, data []byte) {
	t.Helper()
	want, wantErr := decode(data)
	f, need, err := Next(data, Limits{})
	if err != nil {
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset >= min(len(data), MaxFixed) || syntax.Field == "" || syntax.Reason == "" {
			t.Errorf("%x: got %v", data, err)
		}
		if !errors.Is(wantErr, errReference) {
			t.Errorf("%x: got %v, the reference %+v, %v", data, err, want, wantErr)
		}
		return
	}
	if need != 0 || len(f.data) < f.FrameLen() {
		if errors.Is(wantErr, errReference) || wantErr == nil {
			t.Errorf("%x: incomplete, the reference %+v, %v", data, want, wantErr)
		}
		return
	}
	if wantErr != nil {
		t.Fatalf("%x: a frame of %d bytes, the reference %v", data, f.FrameLen(), wantErr)
	}
	got := reference{Message: message(f), ver2: f.data[f.data[0]+3], hasCRC: f.HasCRC(), size: f.FrameLen()}
	if got.hasCRC {
		got.crc = binary.BigEndian.Uint32(f.data[f.size-4:])
	}
	if !bytes.Equal(got.Header, want.Header) || !bytes.Equal(got.Content, want.Content) {
		t.Errorf("%x: header %x, content %x, want %x and %x", data, got.Header, got.Content, want.Header, want.Content)
	}
	got.Header, got.Content, want.Header, want.Content = nil, nil, nil, nil
	if !equal(got, want) {
		t.Errorf("%x: got %+v, want %+v", data, got, want)
	}
	right := !want.hasCRC || crc32.ChecksumIEEE(data[:want.size-4]) == want.crc
	if err := f.CheckCRC(); (err == nil) != right {
		t.Errorf("%x: CheckCRC gave %v, the reference %v", data, err, right)
	}
}

func equal(a, b reference) bool {
	return a.Dialect == b.Dialect && a.Type == b.Type && a.Command == b.Command && a.ID == b.ID && a.Codec == b.Codec &&
		a.Switch == b.Switch && a.Timeout == b.Timeout && a.Status == b.Status && a.Class == b.Class &&
		a.ver2 == b.ver2 && a.crc == b.crc && a.hasCRC == b.hasCRC && a.size == b.size
}

// random returns a random message.
func random(r *rand.Rand) Message {
	text := func(n int) []byte {
		b := make([]byte, r.IntN(n))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	m := Message{
		Dialect: []Dialect{V1, V2, V2CRC}[r.IntN(3)], Type: Type(r.IntN(3)), Command: Command(r.IntN(4)), ID: r.Uint32(),
		Codec: uint8(r.Uint32()), Class: string(text(40)), Header: text(60), Content: text(500),
	}
	if m.Type == Response {
		m.Status = Status(r.IntN(20))
	} else {
		m.Timeout = time.Duration(int32(r.Uint32())) * time.Millisecond
	}
	if m.Dialect != V1 {
		m.Switch = uint8(r.IntN(math.MaxInt8 + 1))
	}
	return m
}

func TestReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		m := random(r)
		data, err := Append(nil, m)
		if err != nil {
			t.Fatalf("%+v: %v", m, err)
		}
		f := whole(t, data)
		if got := message(f); got.Class != m.Class || !bytes.Equal(got.Header, m.Header) || !bytes.Equal(got.Content, m.Content) {
			t.Fatalf("wrote %+v, read %+v", m, got)
		}
		compare(t, data)
	}
}

// TestMutations: Next and the reference agree on frames with a changed byte, on cut frames, and on frames that bytes follow.
func TestMutations(t *testing.T) {
	_, all := vectors(t)
	for _, v := range all {
		for i := range v.frame {
			compare(t, v.frame[:i])
			for _, b := range []byte{0, 1, 2, 3, 0x7f, 0x80, 0xff, v.frame[i] ^ 1} {
				changed := slices.Clone(v.frame)
				changed[i] = b
				compare(t, changed)
				compare(t, append(changed, v.frame...))
			}
		}
	}
}
