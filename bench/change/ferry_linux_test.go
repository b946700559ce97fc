package change

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/bench/internal/clientload"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node"
	"example.com/ferry/node/config"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

// ferry is a node with a proxy, whose processes replace each other.
type ferry struct {
	*program
	backends    *backends
	certificate *certificate
	plan        plan
	drains      []time.Duration // how long the processes before needed to end
	paused      []time.Duration // how long no process had the streams
}

// newFerry starts a node of the program at path.
func newFerry(t *testing.T, path string) *ferry {
	t.Helper()
	dir := t.TempDir()
	f := &ferry{program: newProgram(t, dir, "ferry", path), backends: newBackends(t), certificate: newCertificate(t, dir)}
	f.plan = plan{At: newAddresses(t, places)}
	f.plan.At["boltServer"], f.plan.At["grpcServer"] = f.backends.bolt.Addr, f.backends.grpc.Addr
	f.next()
	f.write(f.plan.yaml(t))
	f.start("run", "-c", "node.yaml")
	if err := ferrynode.WaitReady(f.plan.At["admin"]); err != nil {
		t.Fatal(err)
	}
	return f
}

// next makes the next plan.
func (f *ferry) next() {
	f.plan.Number++
	f.plan.Server = f.backends.web[f.plan.Number%2].Addr
	f.plan.Extra = f.plan.Number%2 == 0
}

// write replaces the configuration file by a rename, so that ferry reads no half-written file.
func (f *ferry) write(text string) {
	f.t.Helper()
	path := filepath.Join(f.dir, "node.yaml")
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		f.t.Fatal(err)
	}
}

// reload makes the next plan count.
func (f *ferry) reload() {
	f.t.Helper()
	f.next()
	f.write(f.plan.yaml(f.t))
	f.signal(syscall.SIGHUP)
	await(f.t, "the plan counts", f.counts)
}

// counts returns an error if another plan than the current one counts.
func (f *ferry) counts() error {
	for _, url := range []string{"http://" + f.plan.At["http1"], "https://" + f.plan.At["https"]} {
		if err := f.responds(url); err != nil {
			return err
		}
	}
	for _, name := range []string{"extraHTTP", "extraStream"} {
		conn, err := net.DialTimeout("tcp", f.plan.At[name], patience)
		if err == nil {
			_ = conn.Close()
		}
		if (err == nil) != f.plan.Extra {
			return fmt.Errorf("%s listens: %v, want %v", name, err == nil, f.plan.Extra)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	visitor, err := stream.Dial(ctx, tcp.New(nil), f.plan.At["stream"], &stream.Config{Token: []byte(visitorToken)})
	if err == nil {
		_ = visitor.Close()
	}
	if (err == nil) != f.plan.Extra {
		return fmt.Errorf("the visitor is accepted: %v, want %v", err == nil, f.plan.Extra)
	}
	return nil
}

// responds returns an error if the response from a URL is not that of the current plan.
func (f *ferry) responds(url string) error {
	return planOf(f.certificate, url, f.plan.Number, strconv.Itoa(f.plan.Number%2))
}

// planOf returns an error if the response from a URL has not this plan and server. Each request has a connection of its own.
func planOf(c *certificate, url string, number int, server string) error {
	client := http.Client{Transport: &http.Transport{TLSClientConfig: c.trust(), DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if got := response.Header.Get("X-Plan"); got != strconv.Itoa(number) || response.Header.Get("X-Server") != server {
		return fmt.Errorf("%s: plan %q by server %q, want %d by %s", response.Status, got, response.Header.Get("X-Server"), number, server)
	}
	return nil
}

// same checks that the node runs the current plan, in all of its fields: it does what ferry diff does.
func (f *ferry) same() {
	f.t.Helper()
	source, err := config.Read(filepath.Join(f.dir, "node.yaml"))
	if err != nil {
		f.t.Fatal(err)
	}
	body, err := json.Marshal(source.Bundle())
	if err != nil {
		f.t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, "http://"+f.plan.At["admin"]+"/api/config/plan", bytes.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+f.token())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	var p node.Plan
	if err := json.NewDecoder(response.Body).Decode(&p); err != nil || response.StatusCode != http.StatusOK {
		f.t.Fatalf("/api/config/plan: %s, %v", response.Status, err)
	}
	if len(p.Differences)+len(p.Refused)+len(p.Invalid) > 0 {
		f.t.Errorf("the node runs another configuration than its file: %+v", p)
	}
}

// token returns the token of the data directory.
func (f *ferry) token() string {
	f.t.Helper()
	token, err := pki.ReadToken(filepath.Join(f.dir, "data", pki.TokenFile))
	if err != nil {
		f.t.Fatal(err)
	}
	return token
}

// upgrade replaces the process, and waits until the one before has ended.
func (f *ferry) upgrade() {
	f.t.Helper()
	next, paused, err := f.tryUpgrade()
	if err != nil {
		f.t.Fatal(err)
	}
	before, since := f.pid, time.Now()
	f.pid = next
	f.awaitEnd(before)
	f.drains, f.paused = append(f.drains, time.Since(since)), append(f.paused, paused)
	f.alive()
	if err := f.counts(); err != nil {
		f.t.Error(err)
	}
}

var upgraded = regexp.MustCompile(`process (\d+) serves, after \S+; the streams paused (\S+)`)

// tryUpgrade runs ferry upgrade. It returns the new process, and how long no process had the streams.
func (f *ferry) tryUpgrade() (pid int, paused time.Duration, err error) {
	path := f.real
	cmd := f.command("upgrade", "--data-dir", "data", "http://"+f.plan.At["admin"])
	cmd.Path = path // what the link leads to may be broken
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, out)
	}
	m := upgraded.FindStringSubmatch(string(out))
	if m == nil {
		return 0, 0, fmt.Errorf("printed %q, want the new process", out)
	}
	if pid, err = strconv.Atoi(m[1]); err == nil {
		paused, err = time.ParseDuration(m[2])
	}
	return pid, paused, err
}

// rotate writes another certificate, and waits until all listeners have it. ferry sees by itself that the files have changed, or looks
// because of a signal.
func (f *ferry) rotate(hangup bool) {
	f.t.Helper()
	f.certificate.rotate(f.t)
	if hangup {
		f.signal(syscall.SIGHUP)
	}
	for _, name := range []string{"https", "streamTLS"} {
		f.certificate.await(f.t, f.plan.At[name])
	}
}

// breakFile reloads a file that is not valid: the plan before stays.
func (f *ferry) breakFile() {
	f.t.Helper()
	refused := f.refused()
	f.write(strings.Replace(f.plan.yaml(f.t), "cluster: web,", "cluster: wep,", 1))
	f.signal(syscall.SIGHUP)
	await(f.t, "the file is refused", func() error {
		if f.refused() == refused {
			return errors.New("no file was refused")
		}
		return nil
	})
	if err := f.counts(); err != nil {
		f.t.Errorf("after a broken file: %v", err)
	}
	f.write(f.plan.yaml(f.t))
}

var refusedFiles = regexp.MustCompile(`(?m)^ferry_config_reloads_total\{result="refused"\} (\S+)$`)

// refused is the number of files that the node has refused.
func (f *ferry) refused() int {
	f.t.Helper()
	response, err := http.Get("http://" + f.plan.At["admin"] + "/metrics")
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	m := refusedFiles.FindSubmatch(text)
	if m == nil {
		f.t.Fatal("no ferry_config_reloads_total among the metrics")
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// breakProgram upgrades to a program that is broken: the process stays.
func (f *ferry) breakProgram(text string) {
	f.t.Helper()
	f.replace(text)
	defer f.repair()
	if pid, _, err := f.tryUpgrade(); err == nil {
		f.t.Fatalf("the broken program serves as process %d", pid)
	}
	f.alive()
	if err := ferrynode.WaitReady(f.plan.At["admin"]); err != nil {
		f.t.Fatal(err)
	}
	if err := f.counts(); err != nil {
		f.t.Errorf("after a broken program: %v", err)
	}
}

// kinds are clients of all kinds.
func (f *ferry) kinds() []clientload.Kind {
	f.t.Helper()
	at, trust := f.plan.At, f.certificate.trust()
	all := append(httpKinds(at, trust),
		clientload.Bolt{Name: "Bolt", Addr: at["bolt"], Server: f.backends.bolt}.Kind(),
		clientload.GRPC{Name: "gRPC", Addr: at["grpc"]}.Kind())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	token := []byte(f.token())
	for _, kind := range []func(context.Context) (clientload.Kind, error){
		clientload.Stream{Name: "stream, stored", Transport: tcp.New(nil), Addr: at["stream"], Token: token, Tags: "orders", Durable: true}.Kind,
		clientload.Stream{Name: "stream, stored, TLS", Transport: tcp.NewTLS(&tcp.Config{ClientTLS: trust}), Addr: at["streamTLS"], Token: token, Tags: "secure", Durable: true}.Kind,
		clientload.Stream{Name: "stream", Transport: tcp.New(nil), Addr: at["stream"], Token: token, Tags: "news"}.Kind,
		clientload.Calls{Name: "calls", Transport: tcp.New(nil), Addr: at["stream"], Token: []byte(callerToken)}.Kind,
		clientload.MQTT{Name: "MQTT", Addr: at["mqtt"], Topics: "plant"}.Kind,
	} {
		k, err := kind(ctx)
		if err != nil {
			f.t.Fatal(err)
		}
		all = append(all, k)
	}
	return all
}
