package interop

import (
	"regexp"
	"strings"
	"testing"

	"example.com/ferry/internal/needs"
)

// TestLoad runs load generators against ferry. None of their requests may fail.
func TestLoad(t *testing.T) {
	for _, name := range []string{"ab", "wrk", "h2load", "nginx"} {
		needs.Program(t, name)
	}
	address, _ := nginx(t)
	for server, address := range map[string]string{"go": serveGo(t, paths()), "nginx": address} {
		f := run(t, "http1.yaml", map[string]string{"18090": address})
		for _, row := range []struct {
			name    string
			command string
			want    []string // regular expressions that the output must match
			not     string
		}{
			{
				"ab with kept connections", "ab -q -k -c 500 -n 20000 URL/echo",
				[]string{`Complete requests: +20000\n`, `Failed requests: +0\n`, `Keep-Alive requests: +20000\n`},
				"Non-2xx",
			},
			{
				"ab", "ab -q -c 50 -n 2000 URL/echo",
				[]string{`Complete requests: +2000\n`, `Failed requests: +0\n`},
				"Non-2xx|Keep-Alive requests",
			},
			{
				"ab, chunked behind", "ab -q -k -c 20 -n 2000 URL/bytes?n=5000",
				[]string{`Complete requests: +2000\n`, `Failed requests: +0\n`, `HTML transferred: +10000000 bytes`},
				"Non-2xx",
			},
			{
				"wrk", "wrk -t1 -c500 -d1s --timeout 30s URL/echo",
				[]string{`[1-9]\d* requests in `},
				"Socket errors|Non-2xx",
			},
			{
				"h2load", "h2load --h1 -n 20000 -c 500 -m 1 URL/echo",
				[]string{`requests: 20000 total, 20000 started, 20000 done, 20000 succeeded, 0 failed, 0 errored, 0 timeout`},
				`[1-9]\d* [345]xx`,
			},
			{
				"h2load, pipelined", "h2load --h1 -n 20000 -c 100 -m 10 URL/echo",
				[]string{`requests: 20000 total, 20000 started, 20000 done, 20000 succeeded, 0 failed, 0 errored, 0 timeout`},
				`[1-9]\d* [345]xx`,
			},
		} {
			t.Run(server+"/"+row.name, func(t *testing.T) {
				args := strings.Fields(strings.ReplaceAll(row.command, "URL", f.url("18080")))
				got := output(t, "", args[0], args[1:]...)
				for _, want := range row.want {
					if !regexp.MustCompile(want).MatchString(got) {
						t.Errorf("want a match of %q", want)
					}
				}
				if m := regexp.MustCompile(row.not).FindString(got); m != "" {
					t.Errorf("want no match of %q", m)
				}
				if t.Failed() {
					t.Log(got)
				}
			})
		}
	}
}
