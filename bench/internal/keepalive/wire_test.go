package keepalive

import (
	"bytes"
	"strings"
	"testing"

	"example.com/ferry/bench/internal/routeset"
)

func TestWires(t *testing.T) {
	for _, name := range []Wire{HTTP1, Bolt} {
		t.Run(string(name), func(t *testing.T) {
			client, err := newWire(name, 1024, routeset.Set{})
			if err != nil {
				t.Fatal(err)
			}
			server, err := newWire(name, 1024, routeset.Set{})
			if err != nil {
				t.Fatal(err)
			}
			request := bytes.Clone(client.request(0xfe))
			for i := range request {
				if out, n, err := server.respond(nil, request[:i]); len(out) > 0 || n != 0 || err != nil {
					t.Fatalf("%d bytes of a request: %d taken, response %q, %v", i, n, out, err)
				}
			}
			response, n, err := server.respond(nil, append(bytes.Clone(request), "more"...))
			if err != nil || n != len(request) {
				t.Fatalf("%d bytes taken of %d, %v", n, len(request), err)
			}
			for i := range response {
				if n, err := client.checkResponse(response[:i], 0xfe); n != 0 || err != nil {
					t.Fatalf("%d bytes of a response: %d taken, %v", i, n, err)
				}
			}
			if n, err := client.checkResponse(response, 0xfe); err != nil || n != len(response) {
				t.Errorf("%d bytes taken of %d, %v", n, len(response), err)
			}
			if _, err := client.checkResponse(response, 0xff); err == nil {
				t.Error("the response to another request is taken for the one's own")
			}
			for _, at := range []int{0, len(response) - 1000, len(response) - 1} {
				wrong := bytes.Clone(response)
				wrong[at] ^= 0x40
				if _, err := client.checkResponse(wrong, 0xfe); err == nil {
					t.Errorf("a response is taken that is wrong at byte %d", at)
				}
			}
			for _, at := range []int{0, len(request) - 1} {
				wrong := bytes.Clone(request)
				wrong[at] ^= 0x40
				if _, n, err := server.respond(nil, wrong); err == nil {
					t.Errorf("%d bytes of a request are taken that is wrong at byte %d", n, at)
				}
			}
		})
	}
}

func TestHTTP1Heads(t *testing.T) {
	body := string(newBody(1024 - markLen))
	whole := "0000000000000007" + body
	for _, row := range []struct{ name, response, want string }{
		{"another order and case", "HTTP/1.1 200 Fine\r\ncontent-length:1024\r\nDate: now\r\n\r\n" + whole, ""},
		{"refused", "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno", "want status 200"},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n", "without Content-Length"},
		{"shorter", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "a body of 2 bytes: want 1024"},
		{"negative", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", `Content-Length " -1"`},
		{"endless", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHead), "a head of more than 8192 bytes"},
		{"another's", "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n0000000000000008" + body, "another from byte 15 on"},
	} {
		t.Run(row.name, func(t *testing.T) {
			response := strings.Replace(row.response, whole, "0000000000000007"+string(newBody(1024)[markLen:]), 1)
			n, err := newHTTP1(1024).checkResponse([]byte(response), 7)
			if row.want == "" && (err != nil || n != len(response)) || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("%d bytes of %d taken, %v; want %q", n, len(response), err, row.want)
			}
		})
	}
}

func TestNewWire(t *testing.T) {
	if _, err := newWire("gopher", 1024, routeset.Set{}); err == nil {
		t.Error("there is a wire gopher")
	}
	if _, err := newWire(HTTP1, 15, routeset.Set{}); err == nil {
		t.Error("a mark fits into 15 bytes")
	}
}

func TestRouted(t *testing.T) {
	for _, kind := range []routeset.Kind{routeset.HostPrefix, routeset.Header} {
		client := &routed{set: routeset.Set{Kind: kind, Count: 100}}
		server := new(routed)
		request := bytes.Clone(client.request(2)) // of the route in the middle
		if _, _, err := server.respond(nil, request); err == nil {
			t.Errorf("%s: a request without a route is accepted", kind)
		}
		through := func(route string) []byte {
			return bytes.Replace(request, []byte("User-Agent"), []byte("x-route: "+route+"\r\nUser-Agent"), 1)
		}
		forwarded := through("route-50")
		for i := range forwarded {
			if out, n, err := server.respond(nil, forwarded[:i]); len(out) > 0 || n != 0 || err != nil {
				t.Fatalf("%s: %d bytes of a request: %d taken, response %q, %v", kind, i, n, out, err)
			}
		}
		response, n, err := server.respond(nil, forwarded)
		if err != nil || n != len(forwarded) {
			t.Fatalf("%s: %d bytes taken of %d, %v", kind, n, len(forwarded), err)
		}
		for i := range response {
			if n, err := client.checkResponse(response[:i], 2); n != 0 || err != nil {
				t.Fatalf("%s: %d bytes of a response: %d taken, %v", kind, i, n, err)
			}
		}
		if n, err := client.checkResponse(response, 2); err != nil || n != len(response) {
			t.Errorf("%s: %d bytes taken of %d, %v", kind, n, len(response), err)
		}
		if _, err := client.checkResponse(response, 3); err == nil {
			t.Errorf("%s: the response to another request is accepted", kind)
		}
		if response, _, _ = server.respond(nil, through("route-51")); len(response) == 0 {
			t.Fatalf("%s: no response", kind)
		}
		if _, err := client.checkResponse(response, 2); err == nil {
			t.Errorf("%s: the response of another route is accepted", kind)
		}
	}
}
