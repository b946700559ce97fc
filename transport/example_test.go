package transport_test

import (
	"context"
	"fmt"
	"io"

	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

// echo sends back the bytes of one connection. It works over any transport.
func echo(ctx context.Context, l transport.Listener) {
	conn, err := l.Accept(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.Copy(conn, conn)
}

func Example() {
	ctx := context.Background()
	var tr transport.Transport = memory.New(nil) // or tcp.New(nil), unix.New(nil), quic.New(...)
	l, err := tr.Listen(ctx, "node")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	go echo(ctx, l)

	conn, err := tr.Dial(ctx, l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Fprint(conn, "across")
	response := make([]byte, 6)
	_, err = io.ReadFull(conn, response)
	fmt.Println(tr.Scheme(), string(response), err)
	// Output: memory across <nil>
}
