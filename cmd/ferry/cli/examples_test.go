package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
	wire "example.com/ferry/protocol/mqtt"
)

// checkout is a directory with a copy of the examples, and with links to what else the repository has, so that commands run unchanged.
type checkout struct{ dir string }

func newCheckout(t *testing.T) checkout {
	t.Helper()
	c := checkout{t.TempDir()}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(c.dir, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(c.dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"ferry": os.Args[0], "bin/ferry": os.Args[0]}
	for _, e := range entries {
		if name := e.Name(); name != "bin" && name != "examples" && name != "ferry-data" && !strings.HasPrefix(name, ".") {
			links[name] = filepath.Join(root, name)
		}
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(c.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c checkout) command(t *testing.T, name string, args ...string) *exec.Cmd {
	cmd := process(t.Context(), filepath.Join(c.dir, name), args...)
	cmd.Dir = c.dir
	return cmd
}

// start runs a command until the test ends or interrupts it. It returns when the command has printed its first line.
func (c checkout) start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := c.command(t, "ferry", args...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
		_ = cmd.Wait()
		t.Fatalf("ferry %q printed nothing: %v: %s", args, err, stderr.String())
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return cmd
}

func interrupt(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%q after an interrupt: %v", cmd.Args, err)
	}
}

// pubSub runs ferry sub for one message and returns its output. It publishes payload until the message arrives. flags are for
// both verbs, pubFlags for ferry pub.
func (c checkout) pubSub(t *testing.T, flags []string, filter, tag, payload string, pubFlags ...string) string {
	t.Helper()
	sub := c.command(t, "ferry", append(append([]string{"sub", "--count", "1"}, flags...), filter)...)
	var stdout bytes.Buffer
	sub.Stdout = &stdout
	if err := sub.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- sub.Wait() }()
	for {
		pub := c.command(t, "ferry", slices.Concat([]string{"pub", "-q", "--ack"}, flags, pubFlags, []string{tag})...)
		pub.Stdin = strings.NewReader(payload)
		if out, err := pub.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", pub.Args, err, out)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%q: %v", sub.Args, err)
			}
			return stdout.String()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestExampleNode(t *testing.T) {
	c := newCheckout(t)
	node := c.start(t, "run", "-c", "examples/node/node.yaml")
	flags := []string{"-a", "quic://127.0.0.1:4290", "--data-dir", "ferry-data/node"}
	if got := c.pubSub(t, flags, "#", "demo", `{"a":1}`); !strings.HasSuffix(got, `"type":"json","payload":{"a":1}}`+"\n") {
		t.Errorf("got %q", got)
	}
	interrupt(t, node)
}

// TestExampleTransports has a client over each transport of the file.
func TestExampleTransports(t *testing.T) {
	c := newCheckout(t)
	file, err := os.ReadFile(filepath.Join(c.dir, "examples", "node", "transports.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	node := c.start(t, "run", "-c", "examples/node/transports.yaml")
	addresses := regexp.MustCompile(`(?m)^  - address: (\S+)`).FindAllStringSubmatch(string(file), -1)
	if len(addresses) != 8 {
		t.Errorf("%d addresses, want 8", len(addresses))
	}
	for _, a := range addresses {
		flags := []string{"-a", a[1], "--data-dir", "ferry-data/transports"}
		if got := c.pubSub(t, flags, "#", "demo", `{"a":1}`); !strings.HasSuffix(got, `"type":"json","payload":{"a":1}}`+"\n") {
			t.Errorf("%s: got %q", a[1], got)
		}
	}
	interrupt(t, node)
}

func TestExampleFunction(t *testing.T) {
	c := newCheckout(t)
	build := exec.Command("go", "build", "-o", c.dir, "example.com/ferry/examples/function")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	node := c.start(t, "run", "-c", "examples/function/node.yaml")
	function := c.command(t, "function")
	if err := function.Start(); err != nil {
		t.Fatal(err)
	}
	flags := []string{"-a", "tcp://127.0.0.1:4390", "--data-dir", "ferry-data/function"}
	got := c.pubSub(t, flags, "alerts/#", "sensors/pump-1", `{"readings":[{"value":"30"}]}`+"\n"+`{"readings":[{"value":"31"}]}`)
	if !strings.HasPrefix(got, `{"tag":"alerts/pump-1",`) || !strings.HasSuffix(got, `"payload":{"readings":[{"value":"31"}]}}`+"\n") {
		t.Errorf("got %q, want an alert with 31, and none with 30 before it", got)
	}
	interrupt(t, function)
	interrupt(t, node)
}

// TestExampleCalls calls a method through the node, as soon as its server has connected.
func TestExampleCalls(t *testing.T) {
	c := newCheckout(t)
	build := exec.Command("go", "build", "-o", c.dir, "example.com/ferry/examples/calls")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	node := c.start(t, "run", "-c", "examples/calls/node.yaml")
	server := c.command(t, "calls")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	var out []byte
	var err error
	for late := time.Now().Add(30 * time.Second); time.Now().Before(late); {
		call := c.command(t, "ferry", "call", "--token-file", "ferry-data/calls/token", "tcp://127.0.0.1:4790", "greeter.Greeter.Hello", `{"name":"Bo"}`)
		if out, err = call.CombinedOutput(); err == nil {
			break
		}
	}
	if want := fmt.Sprintf(`"Hello, Bo, from process %d"`, server.Process.Pid); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("got %q, %v, want %s", out, err, want)
	}
	token, err := os.ReadFile(filepath.Join(c.dir, "ferry-data/calls/token"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:4791/greeter.Greeter/Hello", strings.NewReader(`{"name":"Bo"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if out, err = io.ReadAll(resp.Body); err != nil || !strings.Contains(string(out), "Hello, Bo") {
		t.Errorf("an ordinary client gets %q, %v", out, err)
	}
	interrupt(t, server)
	interrupt(t, node)
}

func TestExampleNodeFunctions(t *testing.T) {
	c := newCheckout(t)
	node := c.start(t, "run", "-c", "examples/node/functions.yaml")
	flags := []string{"-a", "tcp://127.0.0.1:4490", "--data-dir", "ferry-data/functions-node"}
	for _, kind := range []string{"light", "heavy", "worker"} {
		got := c.pubSub(t, flags, "checksums/"+kind, "checksum/"+kind, `{"bytes":1000000}`)
		if !strings.HasSuffix(got, `"payload":{"bytes":1000000,"crc32":"1279cb9e"}}`+"\n") {
			t.Errorf("%s: got %q", kind, got)
		}
	}
	interrupt(t, node)
}

func TestExampleFunctions(t *testing.T) {
	c := newCheckout(t)
	build := exec.Command("go", "build", "-o", filepath.Join(c.dir, "bin", "thumbs"), "example.com/ferry/examples/functions")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	node := c.start(t, "run", "-c", "examples/functions/node.yaml")
	flags := []string{"-a", "tcp://127.0.0.1:4590", "--data-dir", "ferry-data/functions"}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 640, 480))); err != nil {
		t.Fatal(err)
	}
	got := c.pubSub(t, flags, "thumbs/#", "images/hall", picture.String(), "-t", "raw")
	var message struct{ Tag, Payload string }
	if err := json.Unmarshal([]byte(got), &message); err != nil {
		t.Fatal(err)
	}
	payload, err := hex.DecodeString(message.Payload)
	if err != nil {
		t.Fatal(err)
	}
	thumb, err := png.DecodeConfig(bytes.NewReader(payload))
	if err != nil || message.Tag != "thumbs/hall" || thumb.Width != 64 || thumb.Height != 48 {
		t.Errorf("got %+v, %v on %s, want 64 x 48 on thumbs/hall", thumb, err, message.Tag)
	}
	interrupt(t, node)
}

// TestExampleCascade runs the script that kills both nodes while messages are on their way.
func TestExampleCascade(t *testing.T) {
	c := newCheckout(t)
	cmd := process(t.Context(), "sh", "examples/cascade/cut.sh")
	cmd.Dir = "../../.."
	cmd.Env = append(cmd.Env, "PATH="+c.dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "it has all 300 readings, in order\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestExampleCascadeAlone: without ferry, the script says so at once instead of waiting for a node.
func TestExampleCascadeAlone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sh := needs.Program(t, "sh")
	cmd := exec.CommandContext(ctx, sh, "examples/cascade/cut.sh")
	cmd.Dir, cmd.Env = "../../..", []string{"PATH=" + t.TempDir()}
	if out, err := cmd.CombinedOutput(); exitStatus(err) != 1 || !strings.Contains(string(out), "no ferry in the PATH") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestExampleHTTP publishes and subscribes as the comments of the file say, and goes on behind the first event.
func TestExampleHTTP(t *testing.T) {
	c := newCheckout(t)
	node := c.start(t, "run", "-c", "examples/edges/http.yaml")
	const tags = "http://127.0.0.1:18085/v1/tags/"
	post := func(tag, mediaType, body string, want int) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tags+tag, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", mediaType)
		req.Header.Set("Ferry-Ack", "stored")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("POST %s: status %d, want %d", tag, res.StatusCode, want)
		}
	}
	post("plant/1/temperature", "application/x-www-form-urlencoded", `{"value":31.5}`, 204)
	post("plant/2/temperature", "application/x-ndjson", "{\"value\":1}\n{\"value\":40}\n", 200)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tags+"plant%2F%23?where=value+%3E+30", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", "1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	for lines := bufio.NewScanner(res.Body); ; {
		if !lines.Scan() {
			t.Fatalf("the events have ended: %v", lines.Err())
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if !strings.HasPrefix(data, `{"tag":"plant/2/temperature","time":`) || !strings.HasSuffix(data, `"payload":{"value":40}}`) {
				t.Errorf("event %s", data)
			}
			break
		}
	}
	interrupt(t, node)
}

// TestExampleMQTT publishes by MQTT what a session has missed.
func TestExampleMQTT(t *testing.T) {
	c := newCheckout(t)
	node := c.start(t, "run", "-c", "examples/edges/mqtt.yaml")
	sub := mqttConnect(t, "127.0.0.1:1883", false)
	sub.write(wire.AppendSubscribe(nil, wire.V311, &wire.SubscribePacket{ID: 1, Filters: wire.AppendFilter(nil, wire.Subscription{Filter: []byte("plant/#"), QoS: 1})}))
	sub.read(wire.Suback)
	sub.write(wire.AppendDisconnect(nil, wire.V311, wire.DisconnectPacket{}), nil)
	pub := mqttConnect(t, "127.0.0.1:1883", true)
	pub.write(wire.AppendPublish(nil, wire.V311, &wire.PublishPacket{QoS: 1, ID: 1, Topic: []byte("plant/1/temperature"), Payload: []byte(`{"value":31.5}`)}))
	pub.read(wire.Puback)
	sub = mqttConnect(t, "127.0.0.1:1883", false)
	m, err := wire.ParsePublish(sub.read(wire.Publish))
	if err != nil || string(m.Topic) != "plant/1/temperature" || string(m.Payload) != `{"value":31.5}` {
		t.Errorf("got %s %q, %v", m.Topic, m.Payload, err)
	}
	interrupt(t, node)
}

// mqttClient is a connection of MQTT 3.1.1.
type mqttClient struct {
	t    *testing.T
	conn net.Conn
	buf  []byte

	present bool // the session
}

func mqttConnect(t *testing.T, address string, clean bool) *mqttClient {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	c := &mqttClient{t: t, conn: conn}
	c.write(wire.AppendConnect(nil, &wire.ConnectPacket{Version: wire.V311, CleanStart: clean, ClientID: fmt.Append(nil, "example-", clean)}))
	ack, err := wire.ParseConnack(c.read(wire.Connack))
	if err != nil {
		t.Fatal(err)
	}
	c.present = ack.SessionPresent
	return c
}

func (c *mqttClient) write(packet []byte, err error) {
	c.t.Helper()
	if err == nil {
		_, err = c.conn.Write(packet)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// read reads a packet, which must be of that kind.
func (c *mqttClient) read(k wire.Kind) wire.Packet {
	c.t.Helper()
	for {
		p, need, err := wire.Next(c.buf, wire.Limits{Version: wire.V311, FromServer: true})
		if err != nil || need == 0 && p.Kind != k {
			c.t.Fatalf("got %v, %v, want %v", p.Kind, err, k)
		}
		if need == 0 {
			c.buf = c.buf[p.Size:]
			return p
		}
		var b [4096]byte
		n, err := c.conn.Read(b[:])
		if err != nil {
			c.t.Fatal(err)
		}
		c.buf = append(c.buf, b[:n]...)
	}
}

// TestExamplePipeline has three orders make one result, which the stream keeps.
func TestExamplePipeline(t *testing.T) {
	c := newCheckout(t)
	node := c.start(t, "run", "-c", "examples/pipeline/node.yaml")
	flags := []string{"-a", "tcp://127.0.0.1:4990", "--data-dir", "ferry-data/pipeline"}
	pub := c.command(t, "ferry", slices.Concat([]string{"pub", "-q", "--ack"}, flags, []string{"orders/web"})...)
	pub.Stdin = strings.NewReader(`{"shop":"a","item":"pump","euro":10}` + "\n" + `{"shop":"a","item":"valve","euro":"20"}` + "\n" + `{"shop":"a","item":"pump","euro":30}`)
	if out, err := pub.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", pub.Args, err, out)
	}
	for filter, want := range map[string]string{"turnover/#": `{"shop":"a","total":60,"items":2}`, "averages/#": `"resource":`} {
		args := append([]string{"sub", "--count", "1"}, flags...)
		if filter == "turnover/#" {
			args = append(args, "--from", "first")
		}
		out, err := c.command(t, "ferry", append(args, filter)...).Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: got %s, %v, want %s", filter, out, err, want)
		}
	}
	interrupt(t, node)
}
