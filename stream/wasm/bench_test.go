package wasm_test

import (
	_ "embed"
	"fmt"
	"testing"

	"example.com/ferry"
	"example.com/ferry/stream/wasm"
)

//go:embed testdata/field.wasm
var fieldGuest []byte

//go:embed testdata/payload.wasm
var payloadGuest []byte

// BenchmarkHandle passes messages to guests that read one field, and the whole payload.
func BenchmarkHandle(b *testing.B) {
	for name, module := range map[string][]byte{"field": fieldGuest, "payload": payloadGuest} {
		for _, size := range []int{100, 10 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				p, err := wasm.Start(b.Context(), module, wasm.Config{Formats: formats()})
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = p.Close() }()
				in := ferry.Message{Tag: "in", Type: ferry.JSON, Payload: message(size)}
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if err := p.Handle(b.Context(), &in, discard{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// message returns a message of size bytes whose first field is read.
func message(size int) []byte {
	b := append(make([]byte, 0, size), `{"value":42,"rest":"`...)
	for len(b) < size-2 {
		b = append(b, 'x')
	}
	return append(b, `"}`...)
}
