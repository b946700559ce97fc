package grpc_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/compress"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/transport"
)

// TestMalformedRequest: each fault of a request has its status. The connection survives.
func TestMalformedRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), &grpc.Config{MaxMessage: 1000}, nil)
	nc, err := r.transport.Dial(t.Context(), r.addr)
	if err != nil {
		t.Fatal(err)
	}
	c := newRawClient(t, nc)
	bomb, err := compress.Append(nil, make([]byte, 1<<20), "zstd")
	if err != nil || len(bomb) > 1000 {
		t.Fatal(len(bomb), err)
	}
	good := message(0, "hello")
	stream := field{":path", "/test.Echo/Stream"}
	for name, row := range map[string]struct {
		request *rawMessage
		http    int
		status  string
	}{
		"a good one":                      {request(good), 200, "0"},
		"with a timeout":                  {request(good, field{"grpc-timeout", "99999999H"}), 200, "0"},
		"GET":                             {request(good, field{":method", "GET"}), 405, "13"},
		"no content type":                 {request(good, field{"content-type", ""}), 415, "3"},
		"another content type":            {request(good, field{"content-type", "text/plain"}), 415, "3"},
		"a content type, not ASCII":       {request(good, field{"content-type", "application/grpc+é"}), 415, "3"},
		"gRPC-Web":                        {request(good, field{"content-type", "application/grpc-web"}), 415, "3"},
		"a plus without a name":           {request(good, field{"content-type", "application/grpc+"}), 415, "3"},
		"a path of one part":              {request(good, field{":path", "/nothing"}), 200, "12"},
		"a path without a method":         {request(good, field{":path", "/test.Echo/"}), 200, "12"},
		"a path without a service":        {request(good, field{":path", "//Unary"}), 200, "12"},
		"an unknown service":              {request(good, field{":path", "/test.Nothing/Unary"}), 200, "12"},
		"an unknown method":               {request(good, field{":path", "/test.Echo/Nothing"}), 200, "12"},
		"a timeout with a wrong unit":     {request(good, field{"grpc-timeout", "5x"}), 400, "13"},
		"a timeout without a number":      {request(good, field{"grpc-timeout", "S"}), 400, "13"},
		"a timeout of 9 digits":           {request(good, field{"grpc-timeout", "123456789n"}), 400, "13"},
		"a negative timeout":              {request(good, field{"grpc-timeout", "-1S"}), 400, "13"},
		"an unknown encoding":             {request(good, field{"grpc-encoding", "snappy"}), 200, "12"},
		"a binary value, not base64":      {request(good, field{"x-a-bin", "*"}), 200, "3"},
		"several binary values":           {request(good, field{"x-a-bin", "YQ==, YWI,,"}), 200, "0"},
		"thousands of binary values":      {request(good, field{"x-a-bin", strings.Repeat(",", 30_000)}), 200, "3"},
		"a long path":                     {request(good, field{":path", "/test.Echo" + strings.Repeat("\"", 30_000)}), 200, "12"},
		"a long content type":             {request(good, field{"content-type", strings.Repeat("\"", 30_000)}), 415, "3"},
		"a long timeout":                  {request(good, field{"grpc-timeout", strings.Repeat("\"", 30_000)}), 400, "13"},
		"a long encoding":                 {request(good, field{"grpc-encoding", strings.Repeat("\"", 30_000)}), 200, "12"},
		"a path with a second dot":        {request(good, field{":path", "/test/Echo.Unary"}), 200, "12"},
		"a path with a third slash":       {request(good, field{":path", "/test/Echo/Unary"}), 200, "12"},
		"a prefix that is cut":            {request(good[:3]), 200, "13"},
		"a message that is cut":           {request(good[:8]), 200, "13"},
		"a message that is cut, streamed": {request(good+good[:8], stream), 200, "13"},
		"two messages":                    {request(good + good), 200, "12"},
		"a message and a half":            {request(good + good[:8]), 200, "12"},
		"no message":                      {request(""), 200, "12"},
		"no message, trailers":            {&rawMessage{fields: request("").fields, trailers: []field{{"x-a", "b"}}}, 200, "12"},
		"two messages for one, streamed":  {request(good+good, field{":path", "/test.Echo/Down"}), 200, "12"},
		"two messages, streamed":          {request(good+good, stream), 200, "0"},
		"no message, streamed":            {request("", stream), 200, "0"},
		"flag 2":                          {request(message(2, "hello")), 200, "13"},
		"compressed without encoding":     {request(message(1, "hello")), 200, "13"},
		"compressed garbage":              {request(message(1, "hello"), field{"grpc-encoding", "gzip"}), 200, "13"},
		"longer than the limit":           {request(message(0, strings.Repeat("a", 1001))), 200, "8"},
		"4 GiB announced":                 {request("\x00\xff\xff\xff\xff"), 200, "8"},
		"longer than the limit, streamed": {request(good+message(0, strings.Repeat("a", 1001)), stream), 200, "8"},
		"a bomb":                          {request(message(1, string(bomb)), field{"grpc-encoding", "zstd"}), 200, "8"},
		"trailers of a request":           {&rawMessage{fields: request("").fields, body: good, trailers: []field{{"x-a", "b"}}}, 200, "0"},
	} {
		got := c.send(t, row.request)
		if got.status != row.http || got.get("grpc-status") != row.status || got.reset != 0 {
			t.Errorf("%s: got %+v, want HTTP %d, grpc-status %s", name, got, row.http, row.status)
		}
		if n := len(got.get("grpc-message")); n > 1000 {
			t.Errorf("%s: the message repeats %d bytes of the request", name, n)
		}
		if name == "an unknown encoding" && got.get("grpc-accept-encoding") != compress.Names {
			t.Errorf("%s: got %+v, want grpc-accept-encoding", name, got)
		}
	}
	if _, _, err := invoke(t.Context(), r.conn, head(echoMethod), []byte("a")); err != nil {
		t.Error(err)
	}
}

// TestEachCallHasItsOwnContentType: calls of several clients may come over one connection. A response has the content type of its request,
// without parameters, and is compressed only if its client accepts that.
func TestEachCallHasItsOwnContentType(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), nil, nil)
	nc, err := r.transport.Dial(t.Context(), r.addr)
	if err != nil {
		t.Fatal(err)
	}
	c := newRawClient(t, nc)
	text := strings.Repeat("hello ", 100)
	small, err := compress.Append(nil, []byte(text), "gzip")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, row := range []struct{ content, want string }{
			{"application/grpc", "application/grpc"},
			{"application/grpc+proto; client=a", "application/grpc+proto"},
			{"Application/gRPC+JSON;charset=utf-8", "application/grpc+json"},
			{"application/grpc+proto", "application/grpc+proto"},
		} {
			if got := c.send(t, request(message(0, "a"), field{"content-type", row.content})); got.get("content-type") != row.want {
				t.Errorf("the response to %q has %q, want %q", row.content, got.get("content-type"), row.want)
			}
		}
	}
	for accepted, want := range map[string]string{"": "gzip", "gzip": "gzip", "identity, gzip": "gzip", "identity": "", "zstd,deflate": ""} {
		req := request(message(1, string(small)), field{"grpc-encoding", "gzip"})
		if accepted != "" {
			req.fields = append(req.fields, field{"grpc-accept-encoding", accepted})
		}
		got := c.send(t, req)
		if plain := strings.Contains(got.body, text); got.get("grpc-encoding") != want || plain != (want == "") {
			t.Errorf("a client that accepts %q: the response has encoding %q, plain: %v; want %q", accepted, got.get("grpc-encoding"), plain, want)
		}
	}
}

// TestRefusedCall: a server that refuses single calls, because it has as many as it takes, keeps its connection, and the calls are made again
// there. Only one connection is accepted.
func TestRefusedCall(t *testing.T) {
	t.Parallel()
	server := &rawServer{refusals: 4, responses: map[string]rawMessage{
		"/test.Echo/Unary": {status: 200, fields: []field{{"content-type", "application/grpc+json"}}, body: message(0, "{}"), trailers: []field{{"grpc-status", "0"}}},
	}}
	c, err := rpc.Dial(t.Context(), "memory://server", &rpc.ClientConfig{
		Protocol: grpc.Protocol{}, Transports: []transport.Transport{serveRaw(t, server)}, Timeout: 30 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 {
		if _, err := rpc.Call[struct{}](t.Context(), c, echoMethod, &struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefusedStream: a stream that a server has not begun is opened at another one, with all that was sent.
func TestRefusedStream(t *testing.T) {
	t.Parallel()
	network := serveRaw(t, &rawServer{refusals: 1000})
	l, err := grpc.Protocol{}.Listen(t.Context(), network, "other", echoing(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := rpc.Dial(t.Context(), "memory://server,other", &rpc.ClientConfig{
		Protocol: grpc.Protocol{}, Transports: []transport.Transport{network}, Policy: rpc.RoundRobin, Timeout: 30 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 6 {
		s, err := rpc.Open[string, string](t.Context(), c, streamMethod)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"one", "two", "three"} {
			if err := s.Send(&text); err != nil {
				t.Fatalf("stream %d: Send: %v", i, err)
			}
		}
		if err := s.CloseSend(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			text, err := s.Recv()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("stream %d, after %q: %v", i, got, err)
			}
			got = append(got, *text)
		}
		if strings.Join(got, " ") != "one two three" {
			t.Errorf("stream %d: got %q", i, got)
		}
	}
}

// echoing returns a server whose streams send each message back.
func echoing(t *testing.T) call.Service {
	t.Helper()
	srv := rpc.NewServer(nil)
	rpc.HandleBidi(srv, streamMethod, func(_ context.Context, in *rpc.Receiver[string], out *rpc.Sender[string]) error {
		for {
			text, err := in.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if err := out.Send(text); err != nil {
				return err
			}
		}
	})
	return srv
}

// TestUndecodable: a request that the codec cannot decode ends with the code of gRPC's page of statuses.
func TestUndecodable(t *testing.T) {
	t.Parallel()
	srv := rpc.NewServer(nil)
	rpc.Handle(srv, "test.Echo.Unary", func(context.Context, *struct{ A int }) (*struct{}, error) { return &struct{}{}, nil })
	r := newRig(t, srv, nil, nil)
	h := head(echoMethod)
	h.Content = "application/json"
	_, _, err := invoke(t.Context(), r.conn, h, []byte("{"))
	wantCode(t, err, call.Internal)
}

// TestMalformedResponse: each fault of a response has its status.
func TestMalformedResponse(t *testing.T) {
	t.Parallel()
	ok, ct := []field{{"grpc-status", "0"}}, []field{{"content-type", "application/grpc"}}
	good := message(0, "hello")
	rows := map[string]struct {
		response rawMessage
		want     call.Code
	}{
		"a good one":                     {rawMessage{200, ct, good, ok, 0}, call.OK},
		"an unknown code":                {rawMessage{200, ct, good, []field{{"grpc-status", "77"}}, 0}, 77},
		"an error without a message":     {rawMessage{200, append([]field{{"grpc-status", "5"}}, ct...), "", nil, 0}, call.NotFound},
		"HTTP 400":                       {rawMessage{400, nil, "", nil, 0}, call.Internal},
		"HTTP 401":                       {rawMessage{401, nil, "log in", nil, 0}, call.Unauthenticated},
		"HTTP 403":                       {rawMessage{403, nil, "", nil, 0}, call.PermissionDenied},
		"HTTP 404":                       {rawMessage{404, nil, "nothing", nil, 0}, call.Unimplemented},
		"HTTP 429":                       {rawMessage{429, nil, "", nil, 0}, call.Unavailable},
		"HTTP 502":                       {rawMessage{502, nil, "", nil, 0}, call.Unavailable},
		"HTTP 503":                       {rawMessage{503, nil, "later", nil, 0}, call.Unavailable},
		"HTTP 504":                       {rawMessage{504, nil, "", nil, 0}, call.Unavailable},
		"HTTP 500":                       {rawMessage{500, nil, "", nil, 0}, call.Unknown},
		"another content type":           {rawMessage{200, []field{{"content-type", "text/html"}}, "<html>", nil, 0}, call.Unknown},
		"no trailers":                    {rawMessage{200, ct, good, nil, 0}, call.Internal},
		"trailers without a status":      {rawMessage{200, ct, good, []field{{"x-a", "b"}}, 0}, call.Unknown},
		"a head alone, without a status": {rawMessage{200, ct, "", nil, 0}, call.Unknown},
		"two statuses":                   {rawMessage{200, ct, good, append(ok, ok...), 0}, call.Internal},
		"a status of two zeros":          {rawMessage{200, ct, good, []field{{"grpc-status", "00"}}, 0}, call.OK},
		"a status that is no number":     {rawMessage{200, ct, good, []field{{"grpc-status", "abc"}}, 0}, call.Unknown},
		"a prefix that is cut":           {rawMessage{200, ct, good[:3], ok, 0}, call.Internal},
		"a message that is cut":          {rawMessage{200, ct, good[:8], ok, 0}, call.Internal},
		"flag 2":                         {rawMessage{200, ct, message(2, "hello"), ok, 0}, call.Internal},
		"compressed without encoding":    {rawMessage{200, ct, message(1, "hello"), ok, 0}, call.Internal},
		"an unknown encoding":            {rawMessage{200, append([]field{{"grpc-encoding", "snappy"}}, ct...), good, ok, 0}, call.Internal},
		"longer than the limit":          {rawMessage{200, ct, message(0, strings.Repeat("a", 1001)), ok, 0}, call.ResourceExhausted},
		"two messages":                   {rawMessage{200, ct, good + good, ok, 0}, call.Unimplemented},
		"no message":                     {rawMessage{200, ct, "", ok, 0}, call.Unimplemented},
		"a trailer, not base64":          {rawMessage{200, ct, good, append([]field{{"x-a-bin", "*"}}, ok...), 0}, call.Internal},
		"details, not base64":            {rawMessage{200, ct, good, []field{{"grpc-status", "5"}, {"grpc-status-details-bin", "*"}}, 0}, call.NotFound},
	}
	for code, want := range map[http2.Code]call.Code{
		http2.ProtocolError: call.Internal, http2.InternalError: call.Internal, http2.RefusedStream: call.Unavailable, http2.Cancel: call.Canceled,
		http2.EnhanceYourCalm: call.ResourceExhausted, http2.InadequateSecurity: call.PermissionDenied, http2.StreamClosed: call.Unknown,
	} {
		rows["reset with "+code.String()] = struct {
			response rawMessage
			want     call.Code
		}{rawMessage{200, ct, good, nil, code}, want}
	}
	rows["refused"] = struct {
		response rawMessage
		want     call.Code
	}{rawMessage{reset: http2.RefusedStream}, call.Unavailable}
	server := &rawServer{responses: map[string]rawMessage{}}
	for name, row := range rows {
		server.responses["/test.A/"+strings.ReplaceAll(name, " ", "_")] = row.response
	}
	network := serveRaw(t, server)
	c, err := grpc.Protocol{Config: &grpc.Config{MaxMessage: 1000}}.Dial(t.Context(), network, "server")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	for name, row := range rows {
		h := head("test.A." + strings.ReplaceAll(name, " ", "_"))
		got, resp, err := invoke(t.Context(), c, h, []byte("a"))
		if s := call.StatusOf(err); row.want == call.OK && (s != nil || string(got) != "hello") || row.want != call.OK && (s == nil || s.Code != row.want) {
			t.Errorf("%s: got %q, %v, want %v", name, got, err, row.want)
		}
		if want := row.response.status == 0; resp.Unsent != want {
			t.Errorf("%s: Unsent is %v", name, resp.Unsent)
		}
		s, err := c.Open(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.CloseSend()
		for err == nil {
			_, err = s.Recv()
		}
		if name == "two messages" || name == "no message" {
			row.want = call.OK
		}
		if err.Error() == "EOF" {
			err = nil
		}
		if s := call.StatusOf(err); (s == nil) != (row.want == call.OK) || s != nil && s.Code != row.want {
			t.Errorf("%s, as a stream: got %v, want %v", name, err, row.want)
		}
	}
}

// TestGoAway: a server that ends the connection before it has seen a call.
func TestGoAway(t *testing.T) {
	t.Parallel()
	network := serveRaw(t, &rawServer{goAway: true})
	c, err := grpc.Protocol{}.Dial(t.Context(), network, "server")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = invoke(t.Context(), c, head(echoMethod), nil)
	wantCode(t, err, call.Unavailable)
	<-c.Closing()
	_, resp, err := invoke(t.Context(), c, head(echoMethod), nil)
	wantCode(t, err, call.Unavailable)
	if !resp.Unsent {
		t.Error("a call on a closing connection must be Unsent")
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNoHTTP2: the peer of a dialed connection is no server of HTTP/2.
func TestNoHTTP2(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), nil, nil)
	l, err := r.transport.Listen(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		nc, err := l.Accept(t.Context())
		if err == nil {
			_, _ = nc.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_ = nc.Close()
		}
	}()
	if _, err := (grpc.Protocol{}).Dial(t.Context(), r.transport, "other"); err == nil || !strings.Contains(err.Error(), "other does not speak HTTP/2") {
		t.Errorf("got %v", err)
	}
	if _, err := (grpc.Protocol{Config: &grpc.Config{MaxMessage: -1}}).Dial(t.Context(), r.transport, r.addr); err == nil || !strings.Contains(err.Error(), "max_message") {
		t.Errorf("a negative limit: got %v", err)
	}
}
