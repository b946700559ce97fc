package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// serveCalls serves gRPC calls. It returns each message of the request as it arrives. The query is the status that the call
// ends with. Without messages, the response is a head only.
func serveCalls(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Te") != "trailers" || r.Header.Get("Content-Type") != "application/grpc+proto" {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	w.Header().Set("Content-Type", "application/grpc+proto")
	status, control := http.TrailerPrefix+"Grpc-Status", http.NewResponseController(w)
	for buf := make([]byte, 1000); ; {
		n, err := r.Body.Read(buf)
		if n > 0 {
			_, _ = w.Write(buf[:n])
			_ = control.Flush()
		} else if status == http.TrailerPrefix+"Grpc-Status" && err == io.EOF && r.ContentLength == 0 {
			status = "Grpc-Status"
		}
		if err != nil {
			break
		}
	}
	w.Header().Set(status, r.URL.RawQuery)
	w.Header().Set(strings.Replace(status, "Status", "Message", 1), "as asked")
}

// TestGRPC makes gRPC calls through the proxy. The status of a call is counted and logged, whether it is in trailers, in the
// only head, or the proxy's own.
func TestGRPC(t *testing.T) {
	t.Parallel()
	logFile := filepath.Join(t.TempDir(), "log")
	calls, none := cluster1("calls", proxytest.ServeHTTP2(t, nil, serveCalls)), cluster1("none", proxytest.DeadAddr(t))
	calls.Protocol, none.Protocol = upstream.HTTP2, upstream.HTTP2
	cfg := &Config{
		Listeners: []Listener{{Name: "calls", Address: "127.0.0.1:0", Protocol: HTTP2, Cluster: "calls"}, {Name: "none", Address: "127.0.0.1:0", Protocol: HTTP2, Cluster: "none"}},
		Clusters:  []upstream.Config{calls, none},
	}
	cfg.AccessLog.File = logFile
	p := start(t, cfg)
	client := pairingClient(t, true)
	call := func(url string, body io.Reader) *http.Response {
		t.Helper()
		req, err := http.NewRequest("POST", url, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/grpc+proto")
		req.Header.Set("Te", "trailers")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	url := "http://" + at(p, 0) + "/service/method?"

	for _, status := range []string{"0", "14", "5"} {
		resp := call(url+status, bytes.NewReader([]byte("message")))
		got, err := io.ReadAll(resp.Body)
		if err != nil || string(got) != "message" || resp.Trailer.Get("Grpc-Status") != status || resp.Trailer.Get("Grpc-Message") != "as asked" {
			t.Errorf("status %s: %q, %v, trailers %v", status, got, err, resp.Trailer)
		}
	}
	if resp := call(url+"13", nil); resp.StatusCode != 200 || resp.Header.Get("Grpc-Status") != "13" {
		t.Errorf("a head only: status %d, %v", resp.StatusCode, resp.Header)
	}
	if resp := call("http://"+at(p, 1)+"/service/method", nil); resp.StatusCode != 200 || resp.Header.Get("Grpc-Status") != "14" || resp.Header.Get("Content-Type") != "application/grpc" {
		t.Errorf("without a server: status %d, %v", resp.StatusCode, resp.Header)
	}

	// A stream in both directions: each message is on its way before the next one is sent.
	messages, input := io.Pipe()
	stream := make(chan *http.Response, 1)
	go func() { stream <- call(url+"0", messages) }()
	var resp *http.Response
	for i := range 100 {
		sent := fmt.Sprintf("message %d", i)
		if _, err := io.WriteString(input, sent); err != nil {
			t.Fatal(err)
		}
		if resp == nil {
			resp = <-stream
		}
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != sent {
			t.Fatalf("sent %q, got %q, %v", sent, got, err)
		}
	}
	input.Close()
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 || resp.Trailer.Get("Grpc-Status") != "0" {
		t.Errorf("the end of the stream: %q, %v, trailers %v", rest, err, resp.Trailer)
	}

	counted := map[traffic.Code]uint64{}
	proxytest.Eventually(t, "all calls are counted", func() bool {
		sum := uint64(0)
		clear(counted)
		for _, r := range p.Snapshot().Traffic.Routes {
			for code, n := range r.Requests {
				counted[code] += n
				sum += n
			}
		}
		return sum == 6
	})
	for status, want := range map[int]uint64{0: 2, 14: 2, 5: 1, 13: 1} {
		if got := counted[traffic.GRPC(status)]; got != want {
			t.Errorf("%d calls with status %d are counted, want %d", got, status, want)
		}
	}
	if got := p.Snapshot().Clusters[0].Endpoints[0].Outcomes; got[upstream.Success] != 2 || got[upstream.Rejected] != 1 || got[upstream.Failure] != 1 || got[upstream.Unavailable] != 1 {
		t.Errorf("outcomes %v, want 2 successes, and one of each of rejected, failure and unavailable", got)
	}
	proxytest.Eventually(t, "the access log has the statuses", func() bool {
		text, _ := os.ReadFile(logFile)
		logged := map[float64]int{}
		for line := range strings.Lines(string(text)) {
			var entry map[string]any
			if json.Unmarshal([]byte(line), &entry) == nil {
				logged[entry["grpc_status"].(float64)]++
			}
		}
		return logged[0] == 2 && logged[14] == 2 && logged[5] == 1 && logged[13] == 1
	})
}
