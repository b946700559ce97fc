package httpproxy

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/internal/needs"
)

func TestFiles(t *testing.T) {
	if !ServesFiles() {
		needs.Missing(t, "nginx is not installed", "make deps")
	}
	listen, _, _ := freeAddrs(t)
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "put"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "greeting"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := StartFiles(t.TempDir(), root, nil, listen)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	resp, err := http.Get("http://" + listen + "/greeting")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+listen+"/put/note", strings.NewReader("stored"))
	if err != nil {
		t.Fatal(err)
	}
	if resp, err = http.DefaultClient.Do(req); err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := os.ReadFile(filepath.Join(root, "put", "note")); err != nil || string(got) != "stored" {
		t.Errorf("status %s, stored %q, %v", resp.Status, got, err)
	}
}
