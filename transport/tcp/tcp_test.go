package tcp_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"

	"example.com/ferry/transport/tcp"
	"example.com/ferry/transport/transporttest"
)

func loopback(*testing.T) string { return "127.0.0.1:0" }

func TestContract(t *testing.T) {
	transporttest.Run(t, transporttest.Subject{Server: tcp.New(nil), Client: tcp.New(nil), Addr: loopback})
}

func TestConnIsTCPConn(t *testing.T) {
	tr := tcp.New(nil)
	l, err := tr.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := tr.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for name, conn := range map[string]net.Conn{"client": client, "server": server} {
		if _, ok := conn.(*net.TCPConn); !ok {
			t.Errorf("%s is a %T, want *net.TCPConn, or net.Buffers is not written with writev", name, conn)
		}
	}
}

func Example() {
	ctx := context.Background()
	tr := tcp.New(nil)
	l, err := tr.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept(ctx)
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.Copy(conn, conn)
	}()

	conn, err := tr.Dial(ctx, l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Fprint(conn, "across")
	response := make([]byte, 6)
	_, err = io.ReadFull(conn, response)
	fmt.Printf("%s %v\n", response, err)
	// Output: across <nil>
}
