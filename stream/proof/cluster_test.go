//go:build linux

package proof

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// engineConfig is the configuration of a process that runs one server of a NATS cluster.
type engineConfig struct {
	Name          string
	Host          string
	Port, Cluster int   // ports for clients and for the other servers
	Routes        []int // ports of all servers of the cluster
	Dir           string
}

// runEngine runs a server until SIGTERM.
func runEngine(_ context.Context, c engineConfig) error {
	o := &server.Options{
		ServerName: c.Name, Host: c.Host, Port: c.Port, JetStream: true, StoreDir: c.Dir, SyncAlways: true, NoSigs: true, NoLog: true,
		Cluster: server.ClusterOpts{Name: "proof", Host: c.Host, Port: c.Cluster},
	}
	for _, port := range c.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("%s:%d", c.Host, port)})
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(timeout) {
		return errors.New("the server does not accept connections")
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	s.Shutdown()
	return nil
}

// cluster is a NATS cluster of processes.
type cluster struct {
	servers []*process
	address string // of all servers, for the configuration of a node
}

// startCluster starts a cluster of n servers.
func startCluster(t *testing.T, n int) *cluster {
	t.Helper()
	var ports []int
	for _, addr := range freePorts(t, 2*n) {
		var port int
		if _, err := fmt.Sscanf(addr, "127.0.0.1:%d", &port); err != nil {
			t.Fatal(err)
		}
		ports = append(ports, port)
	}
	c := &cluster{}
	var addresses []string
	for i := range n {
		name := fmt.Sprintf("engine-%d", i+1)
		p := newRole(t, name, roleEngine, engineConfig{
			Name: name, Host: "127.0.0.1", Port: ports[i], Cluster: ports[n+i], Routes: ports[n:], Dir: filepath.Join(t.TempDir(), "store"),
		})
		p.start()
		c.servers = append(c.servers, p)
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", ports[i]))
	}
	c.address = "nats://" + strings.Join(addresses, ",")
	return c
}

// TestKilledProcesses kills random processes of a system while it works: servers of the engine, nodes and functions.
func TestKilledProcesses(t *testing.T) {
	r := random(t)
	c := startCluster(t, 3)
	h, rec := record(t)
	config := nodeConfig{engine: "{address: '" + c.address + "'}", streams: "[{name: orders, tags: orders/#, delivery: at-least-once, replicas: 3, redelivery: {backoff: [50ms], wait: 5s}}]"}
	var nodes []*runningNode
	var victims []*process
	for i := range 2 {
		config.name = fmt.Sprintf("node-%d", i+1)
		n := newNode(t, config)
		n.start()
		nodes = append(nodes, n)
		victims = append(victims, n.process)
	}
	for i, n := range nodes {
		n.awaitReady()
		for j := range 2 {
			name := fmt.Sprintf("function-%d-%d", i+1, j+1)
			victims = append(victims, startFunction(t, functionConfig{
				Name: name, Node: n.addr, Token: n.token(), Recorder: rec.path, Durable: "workers", Observe: "orders/#",
			}))
		}
	}
	victims = append(victims, c.servers...)
	var loads []*load
	for i, n := range nodes {
		loads = append(loads, startLoad(t, h, n.client("publisher"), fmt.Sprintf("k%d-", i), 8, 256))
	}
	for i := range kills {
		victim := victims[r.IntN(len(victims))]
		t.Logf("%d: kill %s", i+1, victim.name)
		ended := h.Fault("kill " + victim.name)
		victim.kill()
		time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
		victim.start()
		for _, n := range nodes {
			n.awaitReady()
		}
		for _, l := range loads {
			l.awaitStored(100)
		}
		awaitMoreHandled(t, h, 100)
		ended()
	}
	for _, l := range loads {
		l.wait()
	}
	awaitHandled(t, h)
	verify(t, h)
}
