package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry"
	"example.com/ferry/node/config"
	"example.com/ferry/node/deploy"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/stream"
)

// deployer is a client of the service by which functions are deployed.
type deployer struct {
	t    *testing.T
	node *rpc.Client
}

func newDeployer(t *testing.T, c *stream.Client) deployer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	node, err := rpc.DialNode(ctx, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = node.Close() })
	for ctx.Err() == nil { // a node is ready a moment before it serves the service
		_, err := rpc.Call[deploy.List](ctx, node, deploy.MethodList, &deploy.ListRequest{})
		if err == nil || call.StatusOf(err).Code != call.Unavailable {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return deployer{t, node}
}

// deploy sends a module in pieces of a few bytes.
func (d deployer) deploy(spec deploy.Spec, module []byte) (*deploy.Deployed, error) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 30*time.Second)
	defer cancel()
	s, err := rpc.Open[deploy.Deployed, deploy.Piece](ctx, d.node, deploy.MethodDeploy)
	if err != nil {
		return nil, err
	}
	err = s.Send(&deploy.Piece{Spec: &spec})
	for rest := module; err == nil && len(rest) > 0; {
		n := min(len(rest), 300)
		err = s.Send(&deploy.Piece{Data: rest[:n]})
		rest = rest[n:]
	}
	if err == nil {
		err = s.CloseSend()
	}
	done, received := s.Recv()
	return done, errors.Join(received, err)
}

// must deploys, and expects a version.
func (d deployer) must(version int, spec deploy.Spec, module []byte) {
	d.t.Helper()
	if done, err := d.deploy(spec, module); err != nil || done.Version != version {
		d.t.Fatalf("got %+v, %v, want version %d", done, err, version)
	}
}

// refused deploys, and expects an error.
func (d deployer) refused(spec deploy.Spec, module []byte, want string) {
	d.t.Helper()
	if done, err := d.deploy(spec, module); err == nil || !strings.Contains(err.Error(), want) {
		d.t.Errorf("got %+v, %v, want %q", done, err, want)
	}
}

func (d deployer) rollBack(name string) (*deploy.Deployed, error) {
	return rpc.Call[deploy.Deployed](d.t.Context(), d.node, deploy.MethodRollback, &deploy.Target{Name: name})
}

// module reads a guest, and appends a custom section, so that each mark makes another module of it.
func module(t *testing.T, file, mark string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, append([]byte{0, byte(len(mark) + 1), byte(len(mark))}, mark...)...)
}

// TestStalledDeploy: a module that does not arrive, or too slowly, ends its call, so that others can deploy.
func TestStalledDeploy(t *testing.T) {
	for name, row := range map[string]struct {
		every time.Duration // between pieces of 64 KiB
		last  int           // the piece after which nothing comes; the others are the whole module
		want  string
	}{
		"nothing comes": {0, 0, "0 bytes in 10s"}, "the end does not come": {time.Millisecond, 20, "too slowly"}, "one byte a second": {40 * time.Second, 0, "too slowly"},
		"a slow link": {time.Second, 40, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				stalled := make(chan struct{})
				_, module, err := receiveModule(func() (*deploy.Piece, error) {
					switch n++; {
					case row.want == "" && n > row.last:
						return nil, io.EOF
					case n > row.last && row.every < 2*time.Second:
						<-stalled
						return nil, io.EOF
					}
					time.Sleep(row.every)
					return &deploy.Piece{Spec: &deploy.Spec{}, Data: make([]byte, moduleRate)}, nil
				})
				close(stalled)
				switch {
				case row.want == "" && (err != nil || len(module) != row.last*moduleRate):
					t.Errorf("got %d bytes, %v", len(module), err)
				case row.want != "" && (call.StatusOf(err) == nil || call.StatusOf(err).Code != call.DeadlineExceeded || !strings.Contains(err.Error(), row.want)):
					t.Errorf("got %v, want %q", err, row.want)
				}
				time.Sleep(time.Minute) // the recv that waited ends
			})
		})
	}
}

const otherGuest = "../stream/wasm/testdata/field.wasm" // it fails every message without "value": 42

func TestDeploy(t *testing.T) {
	cfg := quiet(t)
	n := build(t, cfg)
	stop := run(t, n)
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	d := newDeployer(t, c)
	got := collect(t, c)
	in := deploy.Spec{Name: "guest", Observe: []string{"in/#"}, Where: `exists(do)`}
	d.must(1, in, module(t, testGuest, "1"))
	send(t, c, "in/a", `{"x":1}`)
	send(t, c, "in/a", `{"do":"c","n":1}`)
	expect(t, got, `{"do":"c","n":1}`)
	d.must(2, deploy.Spec{Name: "guest"}, module(t, otherGuest, "2")) // observes what version 1 does
	send(t, c, "in/a", `{"do":"c","n":2}`)
	awaitMetric(t, n, `ferry_function_failed_total{function="guest"} 1`)
	if done, err := d.rollBack("guest"); err != nil || done.Version != 1 {
		t.Fatalf("got %+v, %v, want version 1", done, err)
	}
	send(t, c, "in/a", `{"do":"c","n":3}`)
	expect(t, got, `{"do":"c","n":3}`)
	apply(t, n, func(c *config.Config) { c.Log.Level = config.LevelWarn }) // a reload keeps what is deployed
	send(t, c, "in/a", `{"do":"c","n":4}`)
	expect(t, got, `{"do":"c","n":4}`)
	if err := stop(); err != nil {
		t.Fatal(err)
	}

	n = build(t, n.config())
	run(t, n)
	if c, err = client(t, n, "tcp", n.id.Token()); err != nil {
		t.Fatal(err)
	}
	d, got = newDeployer(t, c), collect(t, c)
	send(t, c, "in/a", `{"do":"c","n":5}`)
	expect(t, got, `{"do":"c","n":5}`)
	list, err := rpc.Call[deploy.List](t.Context(), d.node, deploy.MethodList, &deploy.ListRequest{})
	if err != nil || len(list.Functions) != 1 || list.Functions[0].Current != 1 || len(list.Functions[0].Versions) != 2 {
		t.Errorf("got %+v, %v, want version 1 of 2", list, err)
	}
	if _, body := get(t, n.Admin()+"api/functions"); !strings.Contains(body, `"guest":{"number":1,`) {
		t.Errorf("/api/functions: got %s", body)
	}
	if _, err := rpc.Call[deploy.Target](t.Context(), d.node, deploy.MethodRemove, &deploy.Target{Name: "guest"}); err != nil {
		t.Fatal(err)
	}
	if _, body := get(t, n.Admin()+"api/functions"); strings.TrimSpace(body) != "[]" {
		t.Errorf("after its removal /api/functions has %s", body)
	}
	if _, err := d.rollBack("guest"); call.StatusOf(err).Code != call.NotFound {
		t.Errorf("got %v, want %v", err, call.NotFound)
	}
}

// TestDeployRefused checks what may not be deployed. Nothing of it stays.
func TestDeployRefused(t *testing.T) {
	cfg := quiet(t)
	cfg.Deploy = config.Deploy{Functions: 1, Bytes: 4 << 10, Subscribe: []string{"in/#"}}
	cfg.Streams = []config.Stream{{Tags: []string{"in/#"}, Delivery: config.AtLeastOnce}}
	cfg.Engine.Address = config.EmbeddedEngine
	cfg.Functions = []config.Function{{Name: "mine", Run: "obey", Observe: []string{"in/#"}, Durable: "mine"}}
	n := build(t, cfg)
	run(t, n)
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	d := newDeployer(t, c)
	good := module(t, testGuest, "")
	in := []string{"in/#"}
	d.refused(deploy.Spec{Name: "../up", Observe: in}, good, "is no name")
	d.refused(deploy.Spec{Name: "new"}, good, "say which tags it observes")
	d.refused(deploy.Spec{Name: "mine", Observe: in}, good, `function mine: name: "mine" is taken`)
	d.refused(deploy.Spec{Name: "a", Observe: in, Durable: "mine"}, good, "the durable mine is that of function mine")
	d.refused(deploy.Spec{Name: "a", Observe: in, Memory: 1 << 40}, good, "function a: memory: 1024GiB is out of range")
	d.refused(deploy.Spec{Name: "a", Observe: in, Timeout: time.Hour}, good, "function a: timeout: 1h0m0s exceeds limits.wasm_timeout")
	d.refused(deploy.Spec{Name: "a", Observe: in, Concurrency: 100}, good, "limits.wasm_memory")
	d.refused(deploy.Spec{Name: "a", Observe: in, CPU: "worker"}, good, "function a: cpu: ")
	d.refused(deploy.Spec{Name: "a", Observe: in}, []byte("no module"), "is not a WebAssembly module")
	d.refused(deploy.Spec{Name: "a", Observe: in}, good[:len(good)-100], "ends early")
	d.refused(deploy.Spec{Name: "a", Observe: in}, append(good, make([]byte, 4<<10)...), "deploy.bytes allows 4KiB")
	if list := n.deployed.list(); len(list) > 0 {
		t.Errorf("refused, and there: %+v", list)
	}
	d.must(1, deploy.Spec{Name: "a", Observe: in}, good)
	d.refused(deploy.Spec{Name: "b", Observe: in}, good, "deploy.functions allows 1")
	d.must(2, deploy.Spec{Name: "a", Observe: []string{"other"}}, good) // starts, and may not observe that
	if state := n.functions.all()[1].state(); state.Running || !strings.Contains(state.Error, "forbidden") {
		t.Errorf("got %+v, want the error forbidden: deploy.subscribe has in/#", state)
	}
	if err := n.Apply(changed(n, func(c *config.Config) { c.Functions[0].Name, c.Functions[0].Durable = "a", "a" })); err == nil || !strings.Contains(err.Error(), "is taken") {
		t.Errorf("a configuration with a function of the same name: got %v", err)
	}
}

// TestDeployedDoesNotStart checks that a node starts when a deployed function does not: it is removed over the node.
func TestDeployedDoesNotStart(t *testing.T) {
	cfg := quiet(t)
	n := build(t, cfg)
	stop := run(t, n)
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	newDeployer(t, c).must(1, deploy.Spec{Name: "a", Observe: []string{"in/#"}}, module(t, testGuest, ""))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	n = build(t, changed(n, func(c *config.Config) { c.Deploy.Subscribe = []string{"other"} }))
	run(t, n)
	if state := n.functions.all()[0].state(); state.Running || !strings.Contains(state.Error, "forbidden") {
		t.Errorf("got %+v, want the error forbidden", state)
	}
	if c, err = client(t, n, "tcp", n.id.Token()); err != nil {
		t.Fatal(err)
	}
	if _, err := rpc.Call[deploy.Target](t.Context(), newDeployer(t, c).node, deploy.MethodRemove, &deploy.Target{Name: "a"}); err != nil {
		t.Error(err)
	}
}

// TestDeployChangesOneFunction checks that a deployment and a removal leave the other functions alone, whose files may be half written.
func TestDeployChangesOneFunction(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.wasm")
	if err := os.WriteFile(file, module(t, testGuest, ""), 0o600); err != nil {
		t.Fatal(err)
	}
	n, c, _ := started(t, []config.Function{guestConfig(file)})
	d := newDeployer(t, c)
	spec := deploy.Spec{Name: "a", Observe: []string{"other"}}
	d.must(1, spec, module(t, testGuest, ""))
	mine := n.functions.all()[0].state()
	if err := os.WriteFile(file, module(t, testGuest, "")[:500], 0o600); err != nil {
		t.Fatal(err)
	}
	d.must(2, spec, module(t, otherGuest, ""))
	if _, err := rpc.Call[deploy.Target](t.Context(), d.node, deploy.MethodRemove, &deploy.Target{Name: "a"}); err != nil {
		t.Error(err)
	}
	all := n.functions.all()
	if len(all) != 1 {
		t.Fatalf("%d functions are left, want that of the configuration", len(all))
	}
	if now := all[0].state(); !now.Running || now.Guest.Version != mine.Guest.Version {
		t.Errorf("got %+v with guest %+v, want %+v", now, now.Guest, mine.Guest)
	}
}

// TestDeployGrants checks that only the verb deploy lets a client deploy, and that no other client serves the service.
func TestDeployGrants(t *testing.T) {
	cfg := quiet(t)
	dev, all := identity("dev", "dev-0123456789abcdef", "#"), identity("all", "all-0123456789abcdef", "#")
	dev.Verbs = []config.Verb{config.VerbPublish, config.VerbDeploy}
	all.Call, all.Serve = []string{"*"}, []string{"*"}
	cfg.Identities = []config.Identity{dev, all}
	n := build(t, cfg)
	run(t, n)
	for _, row := range []struct {
		token string
		want  call.Code
	}{{dev.Token, call.OK}, {all.Token, call.PermissionDenied}} {
		c, err := client(t, n, "tcp", row.token)
		if err != nil {
			t.Fatal(err)
		}
		_, err = rpc.Call[deploy.List](t.Context(), newDeployer(t, c).node, deploy.MethodList, &deploy.ListRequest{})
		if got := call.StatusOf(err); err != nil && got.Code != row.want || err == nil && row.want != call.OK {
			t.Errorf("%s: got %v, want %v", row.token, err, row.want)
		}
		if row.want == call.OK {
			continue
		}
		srv := rpc.NewServer(nil)
		rpc.Handle(srv, deploy.MethodList, func(context.Context, *deploy.ListRequest) (*deploy.List, error) { return nil, nil })
		if err := rpc.Serve(t.Context(), c, srv); err == nil {
			t.Error("a client with serve: * serves the node's own service")
		}
	}
}

// TestDeployLosesNothing deploys versions while messages flow. Each message is handled exactly once.
func TestDeployLosesNothing(t *testing.T) {
	n, c, _ := started(t, nil)
	d := newDeployer(t, c)
	var mu sync.Mutex
	handled := map[string]int{}
	var count atomic.Int64
	_, err := c.Start(t.Context(), stream.Function{Observe: []string{"out/#"}, Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
		mu.Lock()
		defer mu.Unlock()
		handled[string(in.Payload)]++
		count.Add(1)
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	spec := deploy.Spec{Name: "guest", Observe: []string{"in/#"}}
	d.must(1, spec, module(t, testGuest, "1"))
	var sent atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var publishers sync.WaitGroup
	for p := range 3 {
		publishers.Go(func() {
			source, err := c.Source(t.Context(), fmt.Sprintf("in/%d", p))
			if err != nil {
				t.Error(err)
				return
			}
			for i := 0; ctx.Err() == nil; i++ {
				payload := fmt.Appendf(nil, `{"do":"c","p":%d,"i":%d}`, p, i)
				if err := source.Send(t.Context(), ferry.Message{Type: ferry.JSON, Payload: payload}); err != nil {
					t.Error(err)
					return
				}
				sent.Add(1)
			}
		})
	}
	for i := range 5 {
		before := sent.Load()
		d.must(i+2, spec, module(t, testGuest, fmt.Sprint(i+2)))
		for sent.Load() == before && ctx.Err() == nil { // each version gets messages
			time.Sleep(time.Millisecond)
		}
	}
	cancel()
	publishers.Wait()
	awaitMetric(t, n, fmt.Sprintf(`ferry_function_handled_total{function="guest"} %d`, sent.Load()))
	for range 3000 {
		if count.Load() >= sent.Load() {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	mu.Lock()
	defer mu.Unlock()
	if int64(len(handled)) != sent.Load() || count.Load() != sent.Load() {
		t.Errorf("%d messages were sent, %d different ones were handled, %d in all", sent.Load(), len(handled), count.Load())
	}
	t.Logf("%d messages", sent.Load())
}
