package cli

import (
	"path/filepath"
	"testing"

	"example.com/ferry/node/admin"
)

// TestUpgradeKeepsEndpoints: what an operator has set for the proxy's endpoints, and what health checks have found, holds after an upgrade.
// The new process has found out nothing itself yet.
func TestUpgradeKeepsEndpoints(t *testing.T) {
	t.Parallel()
	n := runUpgradedNode(t, "")
	down := "127.0.0.1:1"
	n.edit(t, "endpoints: [", "health: {kind: tcp, interval: 10ms, unhealthy: 1}, endpoints: [{address: '"+down+"'}, {address: '127.0.0.2:1'}, ")
	if err := n.upgrade(t); err != nil {
		t.Fatal(err)
	}
	var seen struct{ Clusters []admin.ProxyCluster }
	state := func() map[string]admin.ProxyEndpoint {
		n.get(t, "/api/proxy", &seen)
		all := map[string]admin.ProxyEndpoint{}
		for _, e := range seen.Clusters[0].Endpoints {
			all[e.Address] = e
		}
		return all
	}
	until(t, "the endpoints that refuse are down", func() bool { return !state()[down].Healthy && !state()["127.0.0.2:1"].Healthy })
	web := ""
	for at := range state() {
		if at != down && at != "127.0.0.2:1" {
			web = at
		}
	}
	for _, args := range [][]string{{"drain", "web", web}, {"weight", "web", down, "7"}} {
		args = append([]string{"admin", "endpoint", "--data-dir", filepath.Join(n.dir, "data"), "-a", "http://" + n.admin}, args...)
		if out, err := ferryProcess(t.Context(), args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	n.edit(t, "interval: 10ms", "interval: 1h, timeout: 1h")
	n.edit(t, "unhealthy: 1", "unhealthy: 1000") // the new process cannot find that an endpoint is down
	if err := n.upgrade(t); err != nil {
		t.Fatal(err)
	}
	after := state()
	if !after[web].Drained || after[down].Weight != 7 || after[down].Healthy || after["127.0.0.2:1"].Healthy || !after[web].Healthy {
		t.Errorf("after the upgrade: %+v", after)
	}
}
