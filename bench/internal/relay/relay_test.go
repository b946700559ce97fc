package relay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"testing/iotest"
	"time"

	"example.com/ferry/internal/pki"
)

func TestRelay(t *testing.T) {
	dir := t.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	trust, err := pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []Network{TCP, QUIC} {
		t.Run(string(n), func(t *testing.T) {
			node, err := Listen(n, "127.0.0.1:0", id.ServerTLS())
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- node.Serve() }()
			sub, err := Subscribe(t.Context(), n, node.Addr(), trust)
			if err != nil {
				t.Fatal(err)
			}
			pub, err := Publish(t.Context(), n, node.Addr(), trust)
			if err != nil {
				t.Fatal(err)
			}
			want := [][]byte{{}, []byte("one"), bytes.Repeat([]byte{7}, 64<<10), bytes.Repeat([]byte{8}, buffer-header)}
			for tag, payload := range want {
				if err := pub.Send(tag, payload); err != nil {
					t.Fatal(err)
				}
			}
			if err := pub.Flush(); err != nil {
				t.Fatal(err)
			}
			next, all := 0, make(chan struct{})
			go func() {
				_ = sub.Each(func(tag int, payload []byte) {
					if tag != next || !bytes.Equal(payload, want[tag]) {
						t.Errorf("got %d bytes with tag %d, want %d bytes with tag %d", len(payload), tag, len(want[next]), next)
					}
					if next++; next == len(want) {
						close(all)
					}
				})
			}()
			select {
			case <-all:
			case err := <-served:
				t.Fatalf("the node ended: %v", err)
			case <-time.After(time.Minute):
				t.Fatal("not all frames arrived")
			}
			_ = pub.Close()
			_ = node.Close()
			_ = sub.Close()
		})
	}
}

// A truncated frame is an error, and so is an impossible length.
func TestForwardBadInput(t *testing.T) {
	frame := "\x00\x00\x00\x03\x00\x00\x00\x01abc"
	for cut := 1; cut < len(frame); cut++ {
		r := bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader([]byte(frame[:cut]))), buffer)
		if err := forward(r, bufio.NewWriter(io.Discard)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: got %v, want io.ErrUnexpectedEOF", cut, err)
		}
	}
	r := bufio.NewReaderSize(bytes.NewReader([]byte("\xff\xff\xff\xff\x00\x00\x00\x00")), buffer)
	want := fmt.Sprintf("relay: frame of 4294967303 bytes: at most %d", buffer)
	if err := forward(r, bufio.NewWriter(io.Discard)); err == nil || err.Error() != want {
		t.Errorf("oversized frame: got %v, want %s", err, want)
	}
}

// Complete frames are forwarded before the rest of the next one has arrived.
func TestForwardFlushesWhenIdle(t *testing.T) {
	in, feed := io.Pipe()
	out, sink := io.Pipe()
	go func() { _ = forward(bufio.NewReaderSize(in, buffer), bufio.NewWriterSize(sink, buffer)) }()
	const whole, part = "\x00\x00\x00\x01\x00\x00\x00\x00a", "\x00\x00\x00\x09\x00\x00\x00\x00b"
	go func() { _, _ = feed.Write([]byte(whole + part)) }()
	got := make([]byte, len(whole))
	if _, err := io.ReadFull(out, got); err != nil || string(got) != whole {
		t.Errorf("got %q, %v, want %q", got, err, whole)
	}
	_ = feed.Close()
	_ = out.Close()
}
