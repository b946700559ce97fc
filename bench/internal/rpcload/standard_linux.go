package rpcload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	netrpc "net/rpc"
	"runtime"

	"example.com/ferry/bench/internal/harness"
)

// The rows of Go's standard library.
const (
	NetRPC  = "net/rpc, gob"
	NetHTTP = "net/http, JSON"
)

func netRPC() System {
	return System{Name: NetRPC, Version: runtime.Version(), Kind: harness.Peer, Serve: serveNetRPC, Dial: dialNetRPC}
}

func netHTTP() System {
	return System{Name: NetHTTP, Version: runtime.Version(), Kind: harness.Peer, Serve: serveNetHTTP, Dial: dialNetHTTP}
}

// Echo is the service of net/rpc, which finds its methods by their types.
type Echo struct{}

// Say responds to a request.
func (Echo) Say(in *Message, out **Message) error {
	*out = respond(in)
	return nil
}

func serveNetRPC(_ context.Context, _ Spec) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	srv := netrpc.NewServer()
	if err := srv.RegisterName("Echo", Echo{}); err != nil {
		return "", err
	}
	go srv.Accept(l)
	return l.Addr().String(), nil
}

type netRPCClient struct {
	conns    []*netrpc.Client
	messages []*Message
}

func dialNetRPC(_ context.Context, s Spec) (Client, error) {
	c := &netRPCClient{messages: messages(s)}
	for range s.Conns {
		conn, err := netrpc.Dial("tcp", s.Addr)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

func (c *netRPCClient) Call(worker int) error {
	out := new(Message)
	if err := c.conns[worker%len(c.conns)].Call("Echo.Say", c.messages[worker], out); err != nil {
		return err
	}
	return verify(out)
}

func (c *netRPCClient) Close() (err error) {
	for _, conn := range c.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}

func serveNetHTTP(_ context.Context, _ Spec) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			in := new(Message)
			if err := json.NewDecoder(r.Body).Decode(in); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", jsonType)
			_ = json.NewEncoder(w).Encode(respond(in))
		}))
	}()
	return l.Addr().String(), nil
}

type netHTTPClient struct {
	client   *http.Client
	url      string
	messages []*Message
}

func dialNetHTTP(_ context.Context, s Spec) (Client, error) {
	t := &http.Transport{MaxIdleConns: s.Workers, MaxIdleConnsPerHost: s.Workers}
	return &netHTTPClient{client: &http.Client{Transport: t, Timeout: callTime}, url: "http://" + s.Addr, messages: messages(s)}, nil
}

func (c *netHTTPClient) Call(worker int) error {
	body, err := json.Marshal(c.messages[worker])
	if err != nil {
		return err
	}
	resp, err := c.client.Post(c.url, jsonType, bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("rpcload: %s: %s", resp.Status, data)
	}
	out := new(Message)
	if err := json.Unmarshal(data, out); err != nil {
		return err
	}
	return verify(out)
}

func (c *netHTTPClient) Close() error {
	c.client.CloseIdleConnections()
	return nil
}
