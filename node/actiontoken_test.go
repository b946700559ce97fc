package node

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"example.com/ferry/internal/pki"
	"example.com/ferry/node/admin"
)

// TestActionsOfProxy: the admin server of a node without streams asks for the token of the data directory, too, before an upgrade. Without a
// data directory it refuses.
func TestActionsOfProxy(t *testing.T) {
	t.Parallel()
	post := func(n *Node, token string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.Admin()+"api/upgrade", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	start := func(dir string) *Node {
		t.Helper()
		cfg := quiet(t)
		cfg.DataDir, cfg.Listeners, cfg.Proxy = dir, nil, inFrontOf(web(t, "a server"))
		x := extensions()
		x.Upgrade = func(context.Context) (admin.Upgraded, error) { return admin.Upgraded{PID: 1}, nil }
		n, err := Build(cfg, x)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		return n
	}
	dir := filepath.Join(t.TempDir(), "data")
	n := start(dir)
	token, err := pki.ReadToken(filepath.Join(dir, pki.TokenFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		token string
		want  int
	}{{"", http.StatusUnauthorized}, {"another", http.StatusUnauthorized}, {token, http.StatusOK}} {
		if got := post(n, row.token); got != row.want {
			t.Errorf("with token %q: got %d, want %d", row.token, got, row.want)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("the data directory has %v, %v, want the token only", files, err)
	}

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := post(start(filepath.Join(file, "data")), ""); got != http.StatusForbidden {
		t.Errorf("without a data directory: got %d, want %d", got, http.StatusForbidden)
	}
}
