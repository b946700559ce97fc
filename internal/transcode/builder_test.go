package transcode

import (
	"errors"
	"fmt"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/internal/cborhead"
)

// outside is CBOR under another name, so that this package has no writer for it. Its Builder writes CBOR with heads of
// one byte.
type outside struct{ cbor.Format }

func (outside) Name() string               { return "outside" }
func (outside) NewBuilder() format.Builder { return &outsideBuilder{} }

type outsideBuilder struct {
	out  []byte
	maps []bool
}

func (b *outsideBuilder) key(step field.Step) {
	if len(b.maps) > 0 && b.maps[len(b.maps)-1] {
		b.out = append(append(b.out, cborhead.Text<<5|byte(len(step.Name))), step.Name...)
	}
}

func (b *outsideBuilder) Begin(step field.Step, kind field.Kind) error {
	b.key(step)
	b.maps = append(b.maps, kind == field.Map)
	b.out = append(b.out, map[field.Kind]byte{field.Map: cborhead.Map<<5 | cborhead.Indefinite, field.List: cborhead.Array<<5 | cborhead.Indefinite}[kind])
	return nil
}

func (b *outsideBuilder) End() error {
	b.maps = b.maps[:len(b.maps)-1]
	b.out = append(b.out, cborhead.Break)
	return nil
}

func (b *outsideBuilder) Scalar(step field.Step, v field.Value) error {
	b.key(step)
	if v.Kind != field.Int || v.Int < 0 || v.Int > 23 {
		return fmt.Errorf("outside: no form for %v %d", v.Kind, v.Int)
	}
	b.out = append(b.out, byte(v.Int))
	return nil
}

func (b *outsideBuilder) Message() ([]byte, error) {
	if len(b.maps) > 0 {
		return nil, errors.New("outside: a container is open")
	}
	return b.out, nil
}

func TestMessageWritesThroughABuilder(t *testing.T) {
	t.Parallel()
	got, _, err := Message(nil, []byte(`{"a":1,"b":[2,{"c":3}]}`), json.Format{}, outside{})
	if err != nil {
		t.Fatal(err)
	}
	if back, _, err := Message(nil, got, cbor.Format{}, json.Format{}); err != nil || string(back) != `{"a":1,"b":[2,{"c":3}]}` {
		t.Errorf("reads back as %s, %v", back, err)
	}
	if _, _, err := Message(nil, []byte(`{"a":true}`), json.Format{}, outside{}); err == nil {
		t.Error("the builder's error was lost")
	}
}
