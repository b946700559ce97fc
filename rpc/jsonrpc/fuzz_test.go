package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"example.com/ferry/rpc/jsonrpc"
)

// FuzzHandler posts any body. The response is JSON, or there is none.
func FuzzHandler(f *testing.F) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"Greeter.Hello","params":{"name":"Bo"},"id":1}`,
		`{"method":"Greeter.Sum","params":[[1,2]],"id":null}`,
		`[{"jsonrpc":"2.0","method":"Greeter.Sum","params":[1,2],"id":"a"},{"jsonrpc":"2.0","method":"x"},1]`,
		`[[]]`, `{"jsonrpc":"2.0","method":"Greeter.Hello","params":{"name" 5},"id":1}`, ``, `{"id":{}}`,
	} {
		f.Add([]byte(body), uint8(len(body)))
	}
	handler := jsonrpc.Protocol{MaxMessage: 1 << 16}.Handler(newServer(f))
	f.Fuzz(func(t *testing.T, body []byte, kind uint8) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set("Content-Type", []string{"application/json", "application/json-rpc", "application/jsonrpc2"}[kind%3])
		r.Header.Set("Ferry-Timeout-Ms", "100") // Greeter.Wait waits for the end of its context
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		got := w.Body.Bytes()
		if !slices.Contains([]int{http.StatusOK, http.StatusNoContent, http.StatusRequestEntityTooLarge}, w.Code) || (w.Code == http.StatusNoContent) != (len(got) == 0) || len(got) > 0 && !json.Valid(got) {
			t.Fatalf("%q: status %d, %q", body, w.Code, got)
		}
	})
}
