// Http_ingest measures what it costs to take in messages over HTTP: ferry's listener as it ships, the http_server of benthos, and nginx
// that returns 204.
package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/pinned"
)

func main() {
	benthosMain() // does not return in the process of benthos
	harness.Main(question())
}

const (
	perEvent = "CPU us/event"
	rate     = "events/s"
	foreign  = harness.Foreign

	single = "POST of 1 KiB"
	batch  = "NDJSON, 100 of 128 B"

	ferryRow   = "ferry"
	benthosRow = "benthos http_server"
	nginxRow   = "nginx, 204"

	connections = 32
	batchSize   = 100

	tag  = "plant/1"
	path = "/v1/tags/" + tag

	patience = 10 * time.Second // for a response
)

type experiment struct {
	dir    string
	listen string
	admin  string
}

func question() harness.Question {
	e := &experiment{}
	return harness.Question{
		Name: "http_ingest", Title: "Messages that come in over HTTP", Unit: perEvent, Better: harness.Lower,
		About: "POSTs over 32 keep-alive connections, the next one after each response. ferry validates each message in full and routes it; no subscriber " +
			"takes part. benthos parses each message, refuses those that are no JSON, and drops the others. nginx reads the request and returns 204: the " +
			"limit of what a server of HTTP costs. CPU time is the server's, user and system. " +
			"The server has core 0, the client core 1. Each response is checked.",
		Figures: []string{rate, foreign},
		Cases:   []string{single, batch},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "every server accepts the requests of both cases", Run: e.checkAccepted},
			{Name: "ferry counts each message", Run: e.checkCounted},
			{Name: "ferry and benthos refuse a message that is no JSON", Run: e.checkRefused},
		},
		Contenders: []harness.Contender{
			{Name: ferryRow, Kind: harness.Ferry, Version: "this commit", Measure: e.measure(e.ferry)},
			{Name: benthosRow, Kind: harness.Peer, Version: harness.Version("github.com/redpanda-data/benthos/v4"), Measure: e.measure(e.benthos)},
			{Name: nginxRow, Kind: harness.Limit, Version: "apt", Measure: e.measure(e.nginx)},
		},
		Goals: []harness.Goal{
			harness.AtMost(1.3, single+": CPU time, times nginx", func(r *harness.Result) float64 { return r.Ratio(ferryRow, nginxRow, single, perEvent) }),
			harness.AtMost(1, batch+": CPU us an event", func(r *harness.Result) float64 { return r.Stat(ferryRow, batch, perEvent).Max }),
		},
		Notes: []string{"nginx discards the body: it neither validates nor routes. benthos has one thread for its processors, and routes nothing."},
	}
}

func (e *experiment) prepare(dir string) (err error) {
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("needs two cores: here is %d", runtime.NumCPU())
	}
	e.dir = dir
	if e.listen, err = ferrynode.FreeAddr(); err != nil {
		return err
	}
	if e.admin, err = ferrynode.FreeAddr(); err != nil {
		return err
	}
	if err := ferrynode.Build(dir); err != nil {
		return err
	}
	return keepalive.PinProcess([]int{1})
}

func (e *experiment) launch(name, text string, argv ...string) (*pinned.Process, error) {
	if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600); err != nil {
		return nil, err
	}
	return httpproxy.Launch(httpproxy.Setup{Dir: e.dir, Cores: []int{0}, Workers: 1, Listen: e.listen}, argv...)
}

// starter starts a server that gets the requests of a case.
type starter func(load string) (*pinned.Process, error)

func (e *experiment) ferry(string) (*pinned.Process, error) {
	text := fmt.Sprintf("listeners: [{address: 'http://%s', anonymous: guest}]\nidentities: [{name: guest, publish: ['#']}]\nadmin: {address: %s}\ndata_dir: %s\n",
		e.listen, e.admin, filepath.Join(e.dir, "data"))
	return e.launch("node.yaml", text, filepath.Join(e.dir, ferrynode.Binary), "run", "-c", "node.yaml")
}

func (e *experiment) nginx(string) (*pinned.Process, error) {
	text := fmt.Sprintf(`daemon off;
user root;
pid %[1]s/nginx.pid;
error_log stderr error;
worker_processes 1;
events { worker_connections 4096; }
http {
	access_log off;
	client_body_temp_path %[1]s/nginx-body;
	proxy_temp_path %[1]s/nginx-proxy;
	fastcgi_temp_path %[1]s/nginx-fastcgi;
	uwsgi_temp_path %[1]s/nginx-uwsgi;
	scgi_temp_path %[1]s/nginx-scgi;
	keepalive_timeout 1h;
	keepalive_requests 1000000000;
	server { listen %[2]s; location / { return 204; } }
}
`, e.dir, e.listen)
	return e.launch("nginx.conf", text, "nginx", "-p", e.dir, "-e", "stderr", "-c", filepath.Join(e.dir, "nginx.conf"))
}

// request returns the bytes of a request of a case, and how many events it has.
func (e *experiment) request(name string) ([]byte, int) {
	body, media, events := `{"text":"`+strings.Repeat("x", 1013)+`"}`, "application/json", 1
	if name == batch {
		line := `{"device":"sensor-1","sequence":12345,"temperature":21.5,"text":"` + strings.Repeat("x", 60) + "\"}\n"
		body, media, events = strings.TrimSuffix(strings.Repeat(line, batchSize), "\n"), "application/x-ndjson", batchSize
	}
	return e.post(media, body), events
}

func (e *experiment) post(media, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", path, e.listen, media, len(body), body)
}

func (e *experiment) measure(start starter) func(string, time.Duration) (harness.Figures, error) {
	return func(name string, budget time.Duration) (harness.Figures, error) {
		p, err := start(name)
		if err != nil {
			return nil, err
		}
		defer p.Stop()
		return e.run(p, name, max(40*budget, 100*time.Millisecond))
	}
}

// run sends requests for a quarter of the window, and then measures.
func (e *experiment) run(p *pinned.Process, name string, window time.Duration) (harness.Figures, error) {
	request, events := e.request(name)
	clients, err := e.connect()
	defer closeAll(clients)
	if err != nil {
		return nil, err
	}
	if _, err := exchange(clients, request, window/4); err != nil {
		return nil, err
	}
	pids := p.Family()
	before, err := harness.Used(pids)
	if err != nil {
		return nil, err
	}
	began, cpu := time.Now(), cpuOf(pids)
	n, err := exchange(clients, request, window)
	if err != nil {
		return nil, err
	}
	took, used := time.Since(began), cpuOf(pids)-cpu
	after, err := harness.Used(pids)
	if err != nil {
		return nil, err
	}
	_, other := before.Until(after)
	total := float64(n * events)
	return harness.Figures{perEvent: float64(used.Microseconds()) / total, rate: total / took.Seconds(), foreign: other}, nil
}

func cpuOf(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		if d, err := harness.ProcessCPU(pid); err == nil {
			sum += d
		}
	}
	return sum
}

func (e *experiment) connect() (clients []net.Conn, err error) {
	for range connections {
		c, err := net.Dial("tcp", e.listen)
		if err != nil {
			return clients, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func closeAll(clients []net.Conn) {
	for _, c := range clients {
		_ = c.Close()
	}
}

// exchange sends requests on all connections until the time is over. It returns the number of responses, all of status 200 or 204.
func exchange(clients []net.Conn, request []byte, window time.Duration) (n int, err error) {
	type outcome struct {
		n   int
		err error
	}
	done := make(chan outcome, len(clients))
	deadline := time.Now().Add(window)
	for _, c := range clients {
		if err := c.SetDeadline(deadline.Add(patience)); err != nil {
			return 0, err
		}
	}
	for _, c := range clients {
		go func() {
			var o outcome
			buf := make([]byte, 4096)
			for o.err == nil && time.Now().Before(deadline) {
				if _, o.err = c.Write(request); o.err != nil {
					break
				}
				var size int
				if size, o.err = c.Read(buf); o.err == nil && !strings.HasPrefix(string(buf[:size]), "HTTP/1.1 20") {
					o.err = fmt.Errorf("http_ingest: response %q", buf[:size])
				}
				o.n++
			}
			done <- o
		}()
	}
	for range clients {
		o := <-done
		if n += o.n; err == nil {
			err = o.err
		}
	}
	return n, err
}
