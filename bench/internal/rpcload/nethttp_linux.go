package rpcload

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"

	"example.com/ferry/bench/internal/harness"
)

// NetHTTP is the row of net/http with encoding/json.
const NetHTTP = "net/http, JSON"

func netHTTP() System {
	return System{Name: NetHTTP, Version: runtime.Version(), Kind: harness.Peer, Serve: serveNetHTTP, Dial: dialNetHTTP}
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
