package interop

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestLarge sends 1 GiB in each direction at the same time, with a length and in chunks. It compares the bytes
// received with the bytes sent.
func TestLarge(t *testing.T) {
	const size = 1 << 30
	f := run(t, "http1.yaml", map[string]string{"18090": serveGo(t, paths())})
	url := f.url("18080")
	want := sum(size)
	stop := f.watch(32)
	t.Run("all", func(t *testing.T) {
		for _, row := range []struct {
			name  string
			sized bool
		}{{"with a length", true}, {"in chunks", false}} {
			t.Run("up "+row.name, func(t *testing.T) {
				t.Parallel()
				r, err := http.NewRequestWithContext(t.Context(), "PUT", url+"/hash", pattern(size))
				if err != nil {
					t.Fatal(err)
				}
				if row.sized {
					r.ContentLength = size
				}
				got, err := io.ReadAll(answer(t, r).Body)
				if want := fmt.Sprintf("PUT %d %s\n", size, want); err != nil || string(got) != want {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			})
			t.Run("down "+row.name, func(t *testing.T) {
				t.Parallel()
				r, err := http.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("%s/bytes?n=%d", url, size), nil)
				if err != nil {
					t.Fatal(err)
				}
				if row.sized {
					r.URL.RawQuery += "&sized=yes"
				}
				a := answer(t, r)
				if sized := a.ContentLength == size; sized != row.sized {
					t.Errorf("the answer's length is %d, chunked %v", a.ContentLength, a.TransferEncoding)
				}
				h := sha256.New()
				n, err := io.Copy(h, a.Body)
				if got := fmt.Sprintf("%x", h.Sum(nil)); err != nil || n != size || got != want {
					t.Errorf("got %d bytes with hash %s, %v, want %d and %s", n, got, err, size, want)
				}
			})
		}
	})
	stop()
}

// client returns a client with a connection for each concurrent request.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// answer sends a request and expects status 200.
func answer(t *testing.T, r *http.Request) *http.Response {
	t.Helper()
	a, err := client(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Body.Close() })
	if a.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(a.Body, 1000))
		t.Fatalf("got status %d: %s", a.StatusCode, strings.TrimSpace(string(said)))
	}
	return a
}
