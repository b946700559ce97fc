package grpcload

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"example.com/ferry/bench/internal/keepalive"
)

// Protocols are what keepalive.Main needs to run clients and backends of this package.
func Protocols() []keepalive.Protocol {
	return []keepalive.Protocol{
		{Wire: keepalive.GRPC, Connect: connect, Serve: serve},
		{Wire: keepalive.GRPCStream, Connect: connect, Serve: serve},
	}
}

func serve(b keepalive.Backend) error {
	l, err := net.Listen("tcp", b.Addr)
	if err != nil {
		return fmt.Errorf("grpcload: %w", err)
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}))
	s.RegisterService(&description, nil)
	return s.Serve(l)
}

// callTime is the timeout of a call, or of a message in a stream.
const callTime = 20 * time.Second

// client has Spec.Conns connections, and Spec.Streams workers on each.
type client struct {
	spec    keepalive.Spec
	conns   []*grpc.ClientConn
	workers []*worker
}

// worker makes one call at a time.
type worker struct {
	conn    *grpc.ClientConn
	message []byte // its first 16 bytes are the worker's number and that of the message
	number  uint64
	stream  grpc.ClientStream // of GRPCStream; nil before the first message and after a failure
	cancel  context.CancelFunc
}

func connect(s keepalive.Spec) (keepalive.Generator, error) {
	if s.Size < 16 || s.Streams < 1 {
		return nil, fmt.Errorf("grpcload: %d streams with messages of %d bytes: want 1 stream and 16 bytes at least", s.Streams, s.Size)
	}
	if err := keepalive.PinProcess(s.Cores); err != nil {
		return nil, err
	}
	c := &client{spec: s}
	return c, c.Add(s.Conns)
}

// Size returns the number of connections.
func (c *client) Size() int { return len(c.conns) }

// Add opens more connections. grpc-go connects with the first call.
func (c *client) Add(conns int) error {
	for range conns {
		conn, err := grpc.NewClient("passthrough:///"+c.spec.Addr,
			grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{})))
		if err != nil {
			return fmt.Errorf("grpcload: %w", err)
		}
		c.conns = append(c.conns, conn)
		for range c.spec.Streams {
			w := &worker{conn: conn, message: make([]byte, c.spec.Size)}
			binary.BigEndian.PutUint64(w.message, uint64(len(c.workers)))
			c.workers = append(c.workers, w)
		}
	}
	return nil
}

// Run keeps all workers busy.
func (c *client) Run(l keepalive.Load) (*keepalive.Report, error) {
	return keepalive.Repeat(l, len(c.workers), func(i int) error {
		w := c.workers[i]
		w.number++
		binary.BigEndian.PutUint64(w.message[8:], w.number)
		if c.spec.Wire == keepalive.GRPC {
			return w.call()
		}
		err := w.exchange()
		if err != nil && w.stream != nil {
			w.cancel()
			w.stream = nil
		}
		return err
	})
}

// call makes a unary call.
func (w *worker) call() error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	var response []byte
	if err := w.conn.Invoke(ctx, "/"+service+"/"+unaryName, &w.message, &response); err != nil {
		return err
	}
	return w.verify(response)
}

// exchange sends a message in the worker's stream, and receives it back.
func (w *worker) exchange() error {
	if w.stream == nil {
		ctx, cancel := context.WithCancel(context.Background())
		stream, err := w.conn.NewStream(ctx, &description.Streams[0], "/"+service+"/"+streamName)
		if err != nil {
			cancel()
			return err
		}
		w.stream, w.cancel = stream, cancel
	}
	late := time.AfterFunc(callTime, w.cancel)
	defer late.Stop()
	if err := w.stream.SendMsg(&w.message); err != nil {
		return errors.Join(err, w.stream.RecvMsg(new([]byte))) // the status of the stream says why
	}
	var response []byte
	if err := w.stream.RecvMsg(&response); err != nil {
		return err
	}
	return w.verify(response)
}

func (w *worker) verify(response []byte) error {
	if !bytes.Equal(response, w.message) {
		return fmt.Errorf("grpcload: message %d: another response than the request: %d bytes, %x", w.number, len(response), response[:min(16, len(response))])
	}
	return nil
}
