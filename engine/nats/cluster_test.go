package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"example.com/ferry/engine"
	"example.com/ferry/engine/enginetest"
)

// cluster is three servers in the process.
type cluster struct {
	t       *testing.T
	servers []*server.Server
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	var routes []string
	var ports []int
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		routes = append(routes, "nats://"+l.Addr().String())
	}
	c := &cluster{t: t}
	for i, port := range ports {
		o := serverOptions(t, fmt.Sprintf("n%d", i+1))
		o.Cluster = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port}
		o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
		srv, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		c.servers = append(c.servers, srv)
	}
	return c
}

func serverOptions(t *testing.T, name string) *server.Options {
	return &server.Options{
		ServerName: name, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 1 << 28,
	}
}

// run starts the servers and waits until they have a leader.
func (c *cluster) run() {
	c.t.Helper()
	for _, srv := range c.servers {
		srv.Start()
		c.t.Cleanup(func() {
			srv.Shutdown()
			srv.WaitForShutdown()
		})
	}
	until(c.t, "the cluster has a leader", func() bool {
		return slices.ContainsFunc(c.servers, func(s *server.Server) bool { return s.JetStreamIsLeader() && s.JetStreamIsCurrent() })
	})
}

func (c *cluster) connect(t *testing.T) *Engine {
	t.Helper()
	var hosts []string
	for _, srv := range c.servers {
		if srv.Running() {
			hosts = append(hosts, srv.Addr().String())
		}
	}
	return connectTo(t, "nats://"+strings.Join(hosts, ","))
}

func connectTo(t *testing.T, address string) *Engine {
	t.Helper()
	e, err := Connect(t.Context(), ClusterConfig{Address: address, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return e
}

// startAlone starts one server with JetStream and returns its address.
func startAlone(t *testing.T) string {
	t.Helper()
	return startWith(t, serverOptions(t, "alone"))
}

// startWith starts a server and returns its address.
func startWith(t *testing.T, o *server.Options) string {
	t.Helper()
	_, address := startServer(t, o)
	return address
}

func startServer(t *testing.T, o *server.Options) (srv *server.Server, address string) {
	t.Helper()
	srv, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	return srv, "nats://" + srv.Addr().String()
}

func TestServerElsewhere(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Fixture {
		address := startAlone(t)
		e := connectTo(t, address)
		return enginetest.Fixture{
			Engine: e,
			Restart: func(t *testing.T) engine.Engine {
				if err := e.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				return connectTo(t, address)
			},
			Second: func(t *testing.T) engine.Engine { return connectTo(t, address) },
		}
	})
}

// The leader of a stream with three copies stops while records are appended and read. None is lost or out of order.
func TestLeaderStops(t *testing.T) {
	c := startCluster(t)
	c.run()
	e := c.connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := e.Open(ctx, engine.Config{Name: "orders", Tags: []string{"orders/#"}, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	cursor, err := s.Cursor(ctx, engine.CursorConfig{Name: "durable", Start: engine.Start{At: engine.AtFirst}})
	if err != nil {
		t.Fatal(err)
	}
	const records = 3000
	r := &rig{t: t, e: e, s: s}
	var done []<-chan error
	for i := range records {
		done = append(done, r.append(i, 1, 100))
		if i == records/3 {
			r.await(done[i])
			done = nil
			c.stopLeader(s)
		}
	}
	for _, d := range done {
		r.await(d)
	}
	for next := 0; next < records; {
		got, err := cursor.Next(ctx, 100, 1<<20)
		switch {
		case errors.Is(err, engine.ErrLost): // an election took longer than the lease
			if cursor, err = s.Cursor(ctx, engine.CursorConfig{Name: "durable"}); err != nil {
				t.Fatal(err)
			}
			continue
		case err != nil:
			t.Fatalf("Next after %d records: %v", next, err)
		}
		for _, g := range got {
			number, _, _ := strings.Cut(string(g.Payload), " ")
			if number == fmt.Sprint(next) {
				next++
			} else if n := len(number); n > len(fmt.Sprint(next)) || n == len(fmt.Sprint(next)) && number > fmt.Sprint(next) {
				t.Fatalf("record %s comes before %d", number, next)
			}
		}
		cursor.Commit(engine.Position{Floor: got[len(got)-1].Sequence})
	}
	if err := cursor.Close(ctx); err != nil {
		t.Errorf("Close of the cursor: %v", err)
	}
	info, err := s.Info(ctx)
	if err != nil || len(info.Replicas) != 3 {
		t.Errorf("Info = %+v, %v, want three replicas", info, err)
	}
	if info.Records != records {
		t.Logf("%d records were stored twice", info.Records-records)
	}
}

// The connection is lost again and again, with acknowledgements on it. The engine finds what the server has stored. It may store few
// records twice, when the server is slow to read what is left of a lost connection.
func TestConnectionCuts(t *testing.T) {
	e := connectTo(t, startAlone(t))
	s, err := e.Open(t.Context(), engine.Config{Name: "orders", Tags: []string{"orders/#"}})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, e: e, s: s}
	r.await(r.append(0, 1, 1))
	const cuts, each = 20, 300
	doubts := 0
	for cut := range cuts {
		done := r.append(1+cut*each, each, 2000)
		if err := e.write.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		until(t, "the connection is back", e.write.IsConnected)
		if r.failure() != "" {
			doubts++
		}
		r.await(done)
	}
	t.Logf("%d of %d times records waited", doubts, cuts)
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(1 + cuts*each); info.Records < want || info.Records > want+want/20 {
		t.Errorf("%d records are stored, want %d and few twice", info.Records, want)
	}
	r.checkOrder(1 + cuts*each)
}

func (c *cluster) stopLeader(s engine.Stream) {
	c.t.Helper()
	info, err := s.Info(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, r := range info.Replicas {
		for _, srv := range c.servers {
			if r.Leader && srv.Name() == r.Name {
				srv.Shutdown()
				return
			}
		}
	}
	c.t.Fatalf("no leader in %+v", info.Replicas)
}

func TestWhatServersLack(t *testing.T) {
	o := serverOptions(t, "plain")
	o.JetStream = false
	plain, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	plain.Start()
	defer plain.Shutdown()
	e := connectTo(t, "nats://"+plain.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var unsupported *engine.UnsupportedError
	if _, err := e.Open(ctx, engine.Config{Name: "a", Tags: []string{"a"}}); !errors.As(err, &unsupported) || unsupported.Field != "address" {
		t.Errorf("Open on a server without JetStream: %v", err)
	}

	c := startCluster(t)
	c.run()
	e = c.connect(t)
	if _, err := e.Open(ctx, engine.Config{Name: "a", Tags: []string{"a"}, Replicas: 5}); !errors.As(err, &unsupported) || unsupported.Field != "replicas" {
		t.Errorf("Open with five replicas on three servers: %v", err)
	}
	short, cancelShort := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancelShort()
	if _, err := Connect(short, ClusterConfig{Address: "nats://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("Connect where no server is: %v, want an error that names the address", err)
	}
}

func TestAddresses(t *testing.T) {
	for _, row := range []struct{ address, want string }{
		{"nats://a", "nats://a"},
		{"nats://a:1, b", "nats://a:1 nats://b"},
		{"tls://a,tls://b:2", "tls://a tls://b:2"},
		{"a", ""},
		{"http://a", ""},
		{"nats://", ""},
		{"nats://a,tls://b", ""},
	} {
		urls, err := splitAddress(row.address)
		if got := strings.Join(urls, " "); got != row.want || (err != nil) != (row.want == "") {
			t.Errorf("address %q: %q, %v, want %q", row.address, got, err, row.want)
		}
	}
	for _, row := range []struct {
		version string
		want    bool
	}{{"2.11.9", true}, {"2.12.0", false}, {"3.0.0", false}, {"1.9", true}, {"dev", false}} {
		if got := olderThan(row.version, 2, 12); got != row.want {
			t.Errorf("version %s is older than 2.12: %v", row.version, got)
		}
	}
}
