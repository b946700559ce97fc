package admin

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// TestPlanBody: this path alone takes a body, from the holder of the token.
func TestPlanBody(t *testing.T) {
	t.Parallel()
	_, url := start(t, Config{LocalToken: "the-token-of-the-data-directory", Plan: func(body []byte) (any, error) {
		if string(body) == "broken" {
			return nil, errors.New("not a bundle")
		}
		return map[string]int{"bytes": len(body)}, nil
	}})
	post := func(path, token, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return response(t, r)
	}
	for _, c := range []struct {
		path, token, body string
		status            int
		want              string
	}{
		{planPath, "the-token-of-the-data-directory", "files", 200, `{"bytes":5}`},
		{planPath, "the-token-of-the-data-directory", "broken", 400, "not a bundle"},
		{planPath, "the-token-of-the-data-directory", strings.Repeat("x", maxPlan+1), 413, "too long"},
		{planPath, "another-token", "files", 401, "data directory"},
		{"/ping", "the-token-of-the-data-directory", "files", 413, "no request here takes a body"},
	} {
		if status, body := post(c.path, c.token, c.body); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s with %s: %d %q, want %d %q", c.path, c.token, status, body, c.status, c.want)
		}
	}
}
