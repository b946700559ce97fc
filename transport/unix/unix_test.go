package unix_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/transport/transporttest"
	"example.com/ferry/transport/unix"
)

func path(t *testing.T) string { return filepath.Join(t.TempDir(), "s") }

func TestContract(t *testing.T) {
	transporttest.Run(t, transporttest.Subject{Server: unix.New(nil), Client: unix.New(nil), Addr: path})
}

func TestAbandonedSocketIsReplaced(t *testing.T) {
	p := path(t)
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: p, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := unix.New(nil).Listen(t.Context(), p)
	if err != nil {
		t.Fatalf("Listen on an abandoned socket: %v", err)
	}
	info, err := os.Stat(p)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("permissions = %v, want -rw-------", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p); !os.IsNotExist(err) {
		t.Errorf("after Close the socket file is still there: %v", err)
	}
}

func TestListenKeepsOtherFiles(t *testing.T) {
	p := path(t)
	if err := os.WriteFile(p, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.New(nil).Listen(t.Context(), p); err == nil || !strings.Contains(err.Error(), p) {
		t.Errorf("Listen on a file = %v, want an error that names %s", err, p)
	}
	if got, err := os.ReadFile(p); err != nil || string(got) != "precious" {
		t.Errorf("the file holds %q, %v, want it untouched", got, err)
	}
}

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	tr := unix.New(nil)
	l, err := tr.Listen(ctx, filepath.Join(dir, "ferry.sock"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	go func() {
		if conn, err := tr.Dial(ctx, l.Addr().String()); err == nil {
			fmt.Fprint(conn, "across")
			_ = conn.Close()
		}
	}()
	conn, err := l.Accept(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	got, err := io.ReadAll(conn)
	fmt.Printf("%s %v\n", got, err)
	// Output: across <nil>
}
