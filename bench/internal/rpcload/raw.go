package rpcload

import "fmt"

// rawOf returns the kind of messages without an encoding, of size bytes. A handler changes the first byte.
func rawOf(size int) kind[[]byte] {
	return kind[[]byte]{
		request: func() *[]byte {
			b := make([]byte, size)
			for i := range b {
				b[i] = byte(i)
			}
			return &b
		},
		respond: func(b *[]byte) *[]byte {
			(*b)[0] = okNumber
			return b
		},
		verify: func(b *[]byte) error {
			if len(*b) != size || (*b)[0] != okNumber || (*b)[size-1] != byte(size-1) {
				return fmt.Errorf("rpcload: wrong response of %d bytes, want %d: % .100x", len(*b), size, *b)
			}
			return nil
		},
	}
}
