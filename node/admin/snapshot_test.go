package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/ferry/node/backup"
)

// archived is an Archiver whose streams have the parts "a" and "b". The stream broken fails after its first part, bad before it.
type archived struct{}

func (archived) Manifest(context.Context) (backup.Manifest, error) {
	return backup.Manifest{Made: time.Now(), Engine: "embedded", Address: "embedded", Streams: []string{"orders", "dead"}}, nil
}

func (archived) Snapshot(_ context.Context, name string, write func([]byte) error) error {
	switch name {
	case "none":
		return fmt.Errorf("%w: none", ErrNoStream)
	case "bad":
		return errors.New("cannot\nread")
	case "broken":
		return errors.Join(write([]byte("a")), errors.New("the disk\nis broken"))
	}
	return errors.Join(write([]byte("a")), write([]byte("b")))
}

func TestArchives(t *testing.T) {
	t.Parallel()
	_, url := start(t, Config{Archiver: archived{}, LocalToken: "local-token-0123", Log: slog.New(slog.DiscardHandler)})
	if status, _ := do(t, http.MethodGet, url+"/api/backup"); status != http.StatusUnauthorized {
		t.Errorf("without the token: %d", status)
	}
	get := func(path string) (status int, body, trailer string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer local-token-0123")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(data), response.Trailer.Get(ErrorTrailer)
	}
	for path, want := range map[string]string{"/api/backup": "[orders dead]", "/api/streams/orders/snapshot": "[orders]"} {
		status, body, trailer := get(path)
		m, err := backup.Verify(strings.NewReader(body))
		if status != http.StatusOK || trailer != "" || err != nil || fmt.Sprint(m.Streams) != want {
			t.Errorf("%s: %d, %v, %v, %q, want %s", path, status, m.Streams, err, trailer, want)
		}
	}
	if status, body, _ := get("/api/streams/none/snapshot"); status != http.StatusNotFound || !strings.Contains(body, "no such stream: none") {
		t.Errorf("an unknown stream: %d, %s", status, body)
	}
	if status, body, _ := get("/api/streams/bad/snapshot"); status != http.StatusInternalServerError || !strings.Contains(body, "cannot") {
		t.Errorf("a stream that cannot be read: %d, %s", status, body)
	}
	status, body, trailer := get("/api/streams/broken/snapshot")
	if _, err := backup.Verify(strings.NewReader(body)); status != http.StatusOK || !errors.Is(err, backup.ErrIncomplete) || trailer != "the disk is broken" {
		t.Errorf("a stream that fails: %d, %v, %q", status, err, trailer)
	}
}
