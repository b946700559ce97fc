package keepalive

import (
	"bytes"
	"strings"
	"testing"
)

func TestWires(t *testing.T) {
	for _, name := range []Wire{HTTP1, Bolt} {
		t.Run(string(name), func(t *testing.T) {
			client, err := newWire(name, 1024)
			if err != nil {
				t.Fatal(err)
			}
			server, err := newWire(name, 1024)
			if err != nil {
				t.Fatal(err)
			}
			request := bytes.Clone(client.request(0xfe))
			for i := range request {
				if out, n, err := server.answer(nil, request[:i]); len(out) > 0 || n != 0 || err != nil {
					t.Fatalf("%d bytes of a request: %d taken, answer %q, %v", i, n, out, err)
				}
			}
			answer, n, err := server.answer(nil, append(bytes.Clone(request), "more"...))
			if err != nil || n != len(request) {
				t.Fatalf("%d bytes taken of %d, %v", n, len(request), err)
			}
			for i := range answer {
				if n, err := client.answered(answer[:i], 0xfe); n != 0 || err != nil {
					t.Fatalf("%d bytes of an answer: %d taken, %v", i, n, err)
				}
			}
			if n, err := client.answered(answer, 0xfe); err != nil || n != len(answer) {
				t.Errorf("%d bytes taken of %d, %v", n, len(answer), err)
			}
			if _, err := client.answered(answer, 0xff); err == nil {
				t.Error("the answer to another request is taken for the one's own")
			}
			for _, at := range []int{0, len(answer) - 1000, len(answer) - 1} {
				wrong := bytes.Clone(answer)
				wrong[at] ^= 0x40
				if _, err := client.answered(wrong, 0xfe); err == nil {
					t.Errorf("an answer is taken that is wrong at byte %d", at)
				}
			}
			for _, at := range []int{0, len(request) - 1} {
				wrong := bytes.Clone(request)
				wrong[at] ^= 0x40
				if _, n, err := server.answer(nil, wrong); err == nil {
					t.Errorf("%d bytes of a request are taken that is wrong at byte %d", n, at)
				}
			}
		})
	}
}

func TestHTTP1Heads(t *testing.T) {
	body := string(newBody(1024 - markLen))
	whole := "0000000000000007" + body
	for _, row := range []struct{ name, answer, want string }{
		{"another order and case", "HTTP/1.1 200 Fine\r\ncontent-length:1024\r\nDate: now\r\n\r\n" + whole, ""},
		{"refused", "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno", "want status 200"},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n", "without Content-Length"},
		{"shorter", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "a body of 2 bytes: want 1024"},
		{"negative", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", `Content-Length " -1"`},
		{"endless", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHead), "a head of more than 8192 bytes"},
		{"another's", "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n0000000000000008" + body, "another from byte 15 on"},
	} {
		t.Run(row.name, func(t *testing.T) {
			answer := strings.Replace(row.answer, whole, "0000000000000007"+string(newBody(1024)[markLen:]), 1)
			n, err := newHTTP1(1024).answered([]byte(answer), 7)
			if row.want == "" && (err != nil || n != len(answer)) || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("%d bytes of %d taken, %v; want %q", n, len(answer), err, row.want)
			}
		})
	}
}

func TestNewWire(t *testing.T) {
	if _, err := newWire("gopher", 1024); err == nil {
		t.Error("there is a wire gopher")
	}
	if _, err := newWire(HTTP1, 15); err == nil {
		t.Error("a mark fits into 15 bytes")
	}
}
