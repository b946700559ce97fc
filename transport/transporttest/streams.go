package transporttest

import (
	"io"
	"net"
	"testing"
	"time"

	"example.com/ferry/transport"
)

func testStreams(t *testing.T, s Subject) {
	client, server := connect(t, s)
	dialing, ok := client.(transport.Multi)
	if !ok {
		return // the transport has one stream per connection; the other tests cover that
	}
	accepting := server.(transport.Multi)

	// One stream is full, because its receiver does not read.
	blocked, blockedPeer := stream(t, dialing, accepting)
	writing := async(func() error {
		for {
			if _, err := blocked.Write(randomBytes(1 << 20)); err != nil {
				return err
			}
		}
	})
	readN(t, blockedPeer, 1) // the first byte has arrived

	// The full stream must not delay another stream, or its own opposite direction.
	up, upPeer := stream(t, dialing, accepting)
	down, downPeer := stream(t, accepting, dialing)
	for _, pair := range [][2]net.Conn{{up, upPeer}, {down, downPeer}, {client, server}, {server, client}} {
		want := randomBytes(1 << 20)
		sent := writeAsync(pair[0], want)
		sameBytes(t, "beside a blocked stream", readN(t, pair[1], len(want)), want)
		if err := await(t, "Write", sent); err != nil {
			t.Fatalf("Write: %v", err)
		}
	}

	// Close of a stream closes only that stream. The bytes written before Close are delivered.
	want := randomBytes(10_000)
	closed := async(func() error {
		if _, err := up.Write(want); err != nil {
			return err
		}
		return up.Close()
	})
	got, err := io.ReadAll(upPeer)
	if err != nil {
		t.Fatalf("Read to the end of a stream: %v", err)
	}
	sameBytes(t, "closed stream", got, want)
	if err := await(t, "Close", closed); err != nil {
		t.Fatalf("Close of a stream: %v", err)
	}
	if _, err := client.Write([]byte{7}); err != nil {
		t.Fatalf("Write to the connection after a stream closed: %v", err)
	}
	readN(t, server, 1)

	_ = blockedPeer.Close()
	if err := await(t, "Write to the blocked stream", writing); err == nil {
		t.Error("Write to a stream that the peer closed: no error")
	}
}

// stream opens a stream from a to b. It writes one byte, because b sees the stream only then.
func stream(t *testing.T, a, b transport.Multi) (opened, accepted net.Conn) {
	t.Helper()
	ctx := testContext(t)
	opened, err := a.OpenStream(ctx)
	if err != nil {
		t.Fatalf("OpenStream: %v", err)
	}
	if _, err := opened.Write([]byte{'!'}); err != nil {
		t.Fatalf("first Write to a stream: %v", err)
	}
	accepted, err = b.AcceptStream(ctx)
	if err != nil {
		t.Fatalf("AcceptStream: %v", err)
	}
	t.Cleanup(func() { _ = opened.Close(); _ = accepted.Close() })
	_ = opened.SetDeadline(time.Now().Add(timeout))
	_ = accepted.SetDeadline(time.Now().Add(timeout))
	if got := readN(t, accepted, 1); got[0] != '!' {
		t.Fatalf("first byte of a stream = %q, want !", got)
	}
	return opened, accepted
}
