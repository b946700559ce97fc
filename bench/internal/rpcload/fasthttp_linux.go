package rpcload

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"example.com/ferry/bench/internal/harness"
)

// FastHTTP is the row of fasthttp at both ends, with encoding/json as ferry and net/http have.
const FastHTTP = "fasthttp, JSON"

func fastHTTP() System {
	return System{Name: FastHTTP, Version: "v1.69.0", Kind: harness.Peer, Serve: serveFastHTTP, Dial: dialFastHTTP}
}

func serveFastHTTP(_ context.Context, _ Spec) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		_ = fasthttp.Serve(l, func(c *fasthttp.RequestCtx) {
			in := new(Message)
			if err := json.Unmarshal(c.PostBody(), in); err != nil {
				c.Error(err.Error(), fasthttp.StatusBadRequest)
				return
			}
			body, err := json.Marshal(respond(in))
			if err != nil {
				c.Error(err.Error(), fasthttp.StatusInternalServerError)
				return
			}
			c.SetContentType(jsonType)
			c.SetBody(body)
		})
	}()
	return l.Addr().String(), nil
}

type fastHTTPClient struct {
	client   *fasthttp.HostClient
	url      string
	messages []*Message
}

func dialFastHTTP(_ context.Context, s Spec) (Client, error) {
	c := &fasthttp.HostClient{Addr: s.Addr, MaxConns: s.Workers}
	return &fastHTTPClient{client: c, url: "http://" + s.Addr + "/", messages: messages(s)}, nil
}

func (c *fastHTTPClient) Call(worker int) error {
	body, err := json.Marshal(c.messages[worker])
	if err != nil {
		return err
	}
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI(c.url)
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType(jsonType)
	req.SetBodyRaw(body)
	if err := c.client.DoDeadline(req, resp, time.Now().Add(callTime)); err != nil {
		return err
	}
	if resp.StatusCode() != fasthttp.StatusOK {
		return fmt.Errorf("rpcload: status %d: %s", resp.StatusCode(), resp.Body())
	}
	out := new(Message)
	if err := json.Unmarshal(resp.Body(), out); err != nil {
		return err
	}
	return verify(out)
}

func (c *fastHTTPClient) Close() error {
	c.client.CloseIdleConnections()
	return nil
}
