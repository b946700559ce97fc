package grpctransport

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	peer "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"example.com/ferry/transport/grpc"
)

const patience = time.Minute

// raw is a codec of grpc-go that leaves messages as they are.
type raw struct{}

func (raw) Name() string { return "raw" }

func (raw) Marshal(v any) ([]byte, error) {
	p, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("%T is no []byte", v)
	}
	return p, nil
}

func (raw) Unmarshal(data []byte, v any) error {
	p, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no *[]byte", v)
	}
	*p = bytes.Clone(data)
	return nil
}

func randomBytes(n int) []byte {
	p := make([]byte, n)
	_, _ = rand.Read(p)
	return p
}

// TestServer dials a server of grpc-go, which has a handler for calls of every method. It echoes messages.
func TestServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	s := peer.NewServer(peer.ForceServerCodec(raw{}), peer.UnknownServiceHandler(func(_ any, stream peer.ServerStream) error {
		for {
			var m []byte
			err := stream.RecvMsg(&m)
			if err == nil {
				err = stream.SendMsg(m)
			}
			if err != nil {
				ended <- err
				return nil
			}
		}
	}))
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	defer func() {
		s.Stop()
		<-served
	}()
	conn, err := grpc.New(nil).Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	for _, size := range []int{1, 1000, 1 << 20} {
		want := randomBytes(size)
		sent := make(chan error, 1)
		go func() { _, err := conn.Write(want); sent <- err }()
		got := make([]byte, size)
		if n, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d of %d bytes came back, %v", n, size, err)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("the server's call ended with %v, want io.EOF", err)
	}
}

// TestClient has clients of grpc-go, with many calls on one connection.
func TestClient(t *testing.T) {
	t.Parallel()
	l, err := grpc.New(nil).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept(t.Context())
			if err != nil {
				return
			}
			all.Go(func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			})
		}
	})
	client, err := peer.NewClient(l.Addr().String(), peer.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if err := echo(t.Context(), client, randomBytes(200_000)); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	_ = client.Close()
	_ = l.Close()
	all.Wait()
}

// echo sends a message and compares what comes back.
func echo(ctx context.Context, client *peer.ClientConn, want []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	call, err := client.NewStream(ctx, &peer.StreamDesc{ServerStreams: true, ClientStreams: true}, grpc.Method, peer.ForceCodec(raw{}))
	if err != nil {
		return err
	}
	if err := call.SendMsg(want); err != nil {
		return err
	}
	if err := call.CloseSend(); err != nil {
		return err
	}
	var got []byte
	for {
		var m []byte
		err := call.RecvMsg(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		got = append(got, m...)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%d bytes came back that differ from the %d sent", len(got), len(want))
	}
	return nil
}
