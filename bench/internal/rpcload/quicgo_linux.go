package rpcload

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/quic-go/quic-go"
	"google.golang.org/protobuf/proto"

	"example.com/ferry/bench/internal/harness"
)

// QUICGo is the row of bare streams of quic-go: one for each call.
const QUICGo = "quic-go, a stream for each call"

const quicALPN = "bench"

func quicGo() System {
	return System{Name: QUICGo, Version: "v0.65.0", Kind: harness.Peer, Serve: serveQUICGo, Dial: dialQUICGo}
}

func serveQUICGo(ctx context.Context, s Spec) (string, error) {
	id, _, err := identity(s.Dir)
	if err != nil {
		return "", err
	}
	config := id.ServerTLS()
	config.NextProtos = []string{quicALPN}
	l, err := quic.ListenAddr("127.0.0.1:0", config, &quic.Config{MaxIncomingStreams: 1000})
	if err != nil {
		return "", err
	}
	go func() {
		for {
			conn, err := l.Accept(ctx)
			if err != nil {
				return
			}
			go func() {
				for {
					stream, err := conn.AcceptStream(ctx)
					if err != nil {
						return
					}
					go serveQUICStream(stream)
				}
			}()
		}
	}()
	return l.Addr().String(), nil
}

func serveQUICStream(stream *quic.Stream) {
	defer stream.Close()
	_ = stream.SetDeadline(time.Now().Add(callTime))
	data, err := io.ReadAll(stream)
	in := new(Message)
	if err == nil {
		err = proto.Unmarshal(data, in)
	}
	if err == nil {
		data, err = proto.Marshal(respond(in))
	}
	if err != nil {
		stream.CancelWrite(1)
		return
	}
	_, _ = stream.Write(data)
}

type quicGoClient struct {
	conns    []*quic.Conn
	messages []*Message
}

func dialQUICGo(ctx context.Context, s Spec) (Client, error) {
	_, trust, err := identity(s.Dir)
	if err != nil {
		return nil, err
	}
	trust.NextProtos = []string{quicALPN}
	c := &quicGoClient{messages: messages(s)}
	for range s.Conns {
		conn, err := quic.DialAddr(ctx, s.Addr, trust, &quic.Config{KeepAlivePeriod: 10 * time.Second})
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

func (c *quicGoClient) Call(worker int) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	data, err := proto.Marshal(c.messages[worker])
	if err != nil {
		return err
	}
	stream, err := c.conns[worker%len(c.conns)].OpenStreamSync(ctx)
	if err != nil {
		return err
	}
	_ = stream.SetDeadline(time.Now().Add(callTime))
	if _, err := stream.Write(data); err != nil {
		return err
	}
	if err := stream.Close(); err != nil {
		return err
	}
	if data, err = io.ReadAll(stream); err != nil {
		return err
	}
	out := new(Message)
	if err := proto.Unmarshal(data, out); err != nil {
		return err
	}
	return verify(out)
}

func (c *quicGoClient) Close() (err error) {
	for _, conn := range c.conns {
		err = errors.Join(err, conn.CloseWithError(0, ""))
	}
	return err
}
