package transporttest

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

func testCloseUnblocks(t *testing.T, s Subject) {
	client, server := connect(t, s)
	_ = client.SetDeadline(time.Time{})
	reading := async(func() error { _, err := client.Read(make([]byte, 1)); return err })
	writing := async(func() error {
		for {
			if _, err := client.Write(randomBytes(1 << 20)); err != nil {
				return err
			}
		}
	})
	// The server reads 1 MiB, which shows that Write has started. After that it reads nothing until it closes.
	readN(t, server, 1<<20)
	closed := async(client.Close)
	for name, done := range map[string]<-chan error{"Read": reading, "Write": writing} {
		if err := await(t, name, done); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s cut off by Close = %v, want net.ErrClosed", name, err)
		}
	}
	_ = server.Close()
	_ = await(t, "Close", closed)
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Read after Close = %v, want net.ErrClosed", err)
	}
	if _, err := client.Write([]byte{1}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write after Close = %v, want net.ErrClosed", err)
	}
}

func wantTimeout(t *testing.T, name string, err error) {
	t.Helper()
	var timeout net.Error
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("%s past its deadline = %v, want os.ErrDeadlineExceeded with Timeout() true", name, err)
	}
}

func testReadDeadline(t *testing.T, s Subject) {
	client, server := connect(t, s)
	_ = client.SetReadDeadline(time.Now().Add(-time.Second))
	_, err := client.Read(make([]byte, 1))
	wantTimeout(t, "Read", err)

	_ = client.SetReadDeadline(time.Time{})
	read := async(func() error { _, err := client.Read(make([]byte, 1)); return err })
	_ = client.SetReadDeadline(time.Now().Add(time.Millisecond)) // moves the deadline of the Read that is in progress
	wantTimeout(t, "waiting Read", await(t, "Read", read))

	_ = client.SetReadDeadline(time.Now().Add(timeout))
	if _, err := server.Write([]byte("late")); err != nil {
		t.Fatalf("Write: %v", err)
	}
	if got := string(readN(t, client, 4)); got != "late" {
		t.Errorf("after a deadline, Read = %q, want late", got)
	}
}

func testWriteDeadline(t *testing.T, s Subject) {
	client, server := connect(t, s)
	_ = client.SetWriteDeadline(time.Now().Add(-time.Second))
	_, err := client.Write([]byte{1})
	wantTimeout(t, "Write", err)

	_ = client.SetWriteDeadline(time.Time{})
	full := async(func() error {
		for {
			if _, err := client.Write(randomBytes(1 << 20)); err != nil {
				return err
			}
		}
	})
	_ = client.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)) // the peer does not read, so Write blocks when the buffers are full
	wantTimeout(t, "waiting Write", await(t, "Write", full))
	_ = server.Close()
}
