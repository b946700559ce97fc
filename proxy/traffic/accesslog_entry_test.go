package traffic

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"example.com/ferry/protocol/bolt"
)

var noon = time.Date(2026, 11, 20, 13, 0, 0, 4_999_999, time.FixedZone("", 3600))

func TestLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		entry Entry
		want  string
	}{
		{
			"everything",
			Entry{
				Listener: "public", Route: "users", Cluster: "web", Endpoint: "127.0.0.1:18090", Client: "192.0.2.7:50312",
				Method: []byte("GET"), Host: []byte("example.com"), Path: []byte("/users?name=x"), Trace: []byte("4bf9"),
				Status: 503, Code: HTTP(503), Refusal: Overload, Attempts: 2, In: 120, Out: 4711, Took: 1500 * time.Microsecond,
			},
			`{"time":"2026-11-20T12:00:00.004Z","listener":"public","route":"users","cluster":"web","endpoint":"127.0.0.1:18090",` +
				`"client":"192.0.2.7:50312","method":"GET","host":"example.com","path":"/users?name=x","status":503,"code":"5xx",` +
				`"refusal":"overload","attempts":2,"bytes_in":120,"bytes_out":4711,"duration_ms":1.5,"trace_id":"4bf9"}`,
		},
		{
			"Bolt",
			Entry{Listener: "rpc", Host: []byte("com.example.Echo:1.0"), Method: []byte("echo"), Code: Bolt(bolt.StatusSuccess), Attempts: 1, Took: 12345 * time.Millisecond},
			`{"time":"2026-11-20T12:00:00.004Z","listener":"rpc","method":"echo","host":"com.example.Echo:1.0","code":"success","attempts":1,"duration_ms":12345}`,
		},
		{
			"gRPC",
			Entry{Listener: "rpc", Status: 200, Code: GRPC(14), Attempts: 1},
			`{"time":"2026-11-20T12:00:00.004Z","listener":"rpc","status":200,"code":"grpc_unavailable","grpc_status":14,"attempts":1,"duration_ms":0}`,
		},
		{
			"gRPC without failure",
			Entry{Status: 200, Code: GRPC(0)},
			`{"time":"2026-11-20T12:00:00.004Z","status":200,"code":"grpc_ok","grpc_status":0,"duration_ms":0}`,
		},
		{
			"nothing",
			Entry{},
			`{"time":"2026-11-20T12:00:00.004Z","code":"canceled","duration_ms":0}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := string(c.entry.append(nil, noon)); got != c.want+"\n" {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestEscaped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"nothing to do", "/a?b=c&d", "/a?b=c&d"},
		{"empty", "", ""},
		{"quotes", `a"b\c`, `a\"b\\c`},
		{"a forged line", "x\"}\n{\"status\":200", `x\"}\u000a{\"status\":200`},
		{"control characters", "\x00\t\r\x1b[31m\x7f", `\u0000\u0009\u000d\u001b[31m\u007f`},
		{"those beyond ASCII", "a\u0080\u009b\u00a0", `a\u0080\u009b` + "\u00a0"},
		{"text beyond ASCII", "é€😀", "é€😀"},
		{"the replacement itself", "a\ufffdb", "a\ufffdb"},
		{"no UTF-8", "a\xffb\xe2\x82", `a\ufffdb\ufffd\ufffd`},
		{"a surrogate", "\xed\xa0\x80", `\ufffd\ufffd\ufffd`},
		{"a long form", "\xc0\xaf", `\ufffd\ufffd`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := string(appendEscaped(nil, c.text)); got != c.want {
				t.Errorf("text: got %s, want %s", got, c.want)
			}
			if got := string(appendEscaped(nil, []byte(c.text))); got != c.want {
				t.Errorf("bytes: got %s, want %s", got, c.want)
			}
		})
	}
}

func FuzzEscaped(f *testing.F) {
	for _, seed := range []string{"", "/a\"b\\", "\x1b\u009b\x7f", "\xff\xed\xa0\x80é€😀", "a\xe2\x82"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		line := append(appendEscaped([]byte{'"'}, text), '"')
		var got string
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%q became %s: %v", text, line, err)
		}
		if want := string([]rune(string(text))); got != want {
			t.Errorf("%q reads back as %q, want %q", text, got, want)
		}
		if strings.ContainsFunc(string(line), func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			t.Errorf("%q became %q, which has a control character", text, line)
		}
	})
}
