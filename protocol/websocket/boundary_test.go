package websocket

import "testing"

// TestBoundary: wherever the bytes of frames are cut, Between holds behind each whole message and nowhere else.
func TestBoundary(t *testing.T) {
	t.Parallel()
	large := make([]byte, 70_000)
	var stream []byte
	ends := map[int]bool{0: true}
	add := func(whole bool, frame []byte) {
		stream = append(stream, frame...)
		ends[len(stream)] = whole
	}
	add(true, AppendFrame(nil, Text, []byte("hello")))
	add(true, AppendFrame(nil, Binary, nil))
	add(true, AppendFrame(nil, Binary, large[:300]))
	add(true, AppendFrame(nil, Binary, large))
	add(false, []byte{byte(Text), 1, 'a'}) // the first fragment
	add(false, AppendFrame(nil, Ping, []byte("b")))
	add(true, []byte{0x80, 1, 'c'})
	add(true, AppendMaskedClose(nil, GoingAway, [4]byte{1, 2, 3, 4}))
	var whole Boundary
	for i := range stream {
		if whole.Between() != ends[i] {
			t.Fatalf("after %d bytes: %v, want %v", i, whole.Between(), ends[i])
		}
		whole.Pass(stream[i : i+1])
	}
	var pieces Boundary
	for at := 0; at < len(stream); {
		n := min(1+at%977, len(stream)-at)
		pieces.Pass(stream[at : at+n])
		at += n
		if pieces.Between() != ends[at] {
			t.Fatalf("in pieces, after %d bytes: %v, want %v", at, pieces.Between(), ends[at])
		}
	}
	if n, f, err := Next(AppendMaskedClose(nil, GoingAway, [4]byte{1, 2, 3, 4}), 1000); n != 8 || err != nil || f.Opcode != Close || string(f.Payload) != "\x03\xe9" {
		t.Errorf("a masked Close frame: %d bytes, %+v, %v", n, f, err)
	}
	var foreign Boundary
	foreign.Pass([]byte{0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255, 0})
	if foreign.Between() {
		t.Error("bytes that are no frames end between two messages")
	}
}
