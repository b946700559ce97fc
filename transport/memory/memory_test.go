package memory_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/transporttest"
)

func TestContract(t *testing.T) {
	for name, cfg := range map[string]*memory.Config{"defaults": nil, "small": {Buffer: 101, Backlog: 1}} {
		t.Run(name, func(t *testing.T) {
			n := memory.New(cfg)
			transporttest.Run(t, transporttest.Subject{Server: n, Client: n, Addr: func(*testing.T) string { return "here" }})
		})
	}
}

func TestDeadlineInFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memory.New(nil)
		l, err := n.Listen(t.Context(), "node")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := n.Dial(t.Context(), "node")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_ = conn.SetReadDeadline(start.Add(time.Hour))
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read = %v, want os.ErrDeadlineExceeded", err)
		}
		if got := time.Since(start); got != time.Hour {
			t.Errorf("Read returned after %v, want 1h", got)
		}
		_ = conn.Close()
		_ = l.Close()
	})
}

func TestCloseClosesTheBacklog(t *testing.T) {
	n := memory.New(nil)
	l, err := n.Listen(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := n.Dial(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("Read from a connection that was not accepted = %v, want io.EOF", err)
	}
	if _, err := n.Listen(t.Context(), "node"); err != nil {
		t.Errorf("Listen on a freed name: %v", err)
	}
}

func Example() {
	ctx := context.Background()
	n := memory.New(nil)
	l, err := n.Listen(ctx, "node")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	client, err := n.Dial(ctx, "node")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprint(client, "across") // buffered: the server reads later
	_ = client.Close()

	server, err := l.Accept(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := io.ReadAll(server)
	fmt.Printf("%s %v\n", got, err)
	// Output: across <nil>
}
