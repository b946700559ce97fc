package dashboard

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/ferry/node/config"
)

// clientPage is a page of another origin than the node. It subscribes by both protocols, from the first message on: without the id of the
// last message, a subscription that connects again would get all messages twice.
const clientPage = `<!doctype html><title>client</title><link rel="icon" href="data:,">
<script type="module">
import { Client } from "%[1]s/v1/ferry.js";
window.ferry = new Client("%[1]s", { token: "%[2]s" });
window.protocols = ["events", "websocket"];
window.state = {}; window.got = { events: [], websocket: [] };
window.subscriptions = protocols.map((via) => ferry.subscribe("plant/#", { via, where: "v > 0", from: "first", onState: (s) => { state[via] = s; } },
	(m) => got[via].push([m.tag, m.id, JSON.stringify(m.payload)].join(" "))));
window.ready = true;
</script>`

// TestClient publishes and subscribes by clients/web/ferry.js in a page. A relay between the page and the node breaks their connections.
func TestClient(t *testing.T) {
	const token = "0123456789abcdef"
	b := open(t)
	between := newRelay(t)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, clientPage, "http://"+between.listener.Addr().String(), token)
	}))
	t.Cleanup(page.Close)
	cfg := quiet(t)
	cfg.Listeners = []config.Listener{{Address: "http://127.0.0.1:0", HTTP: config.HTTP{Origins: []string{page.URL}}}}
	cfg.Identities = []config.Identity{{Name: "app", Token: token, Publish: []string{"plant/#"}, Subscribe: []string{"plant/#"}}}
	cfg.Streams = []config.Stream{{Tags: config.Filters{"plant/#"}}}
	n := build(t, cfg)
	run(t, n)
	node := strings.TrimPrefix(n.Addresses()[0], "http://")
	between.connect(node)

	b.do(chromedp.Navigate(page.URL))
	everywhere := func(state string) string {
		return `window.ready && protocols.every((p) => state[p] === "` + state + `")`
	}
	arrived := func(messages ...string) {
		t.Helper()
		b.wait(fmt.Sprintf("both subscriptions have got %q", messages), `protocols.every((p) => got[p].join() === '`+strings.Join(messages, ",")+`')`)
	}
	b.wait("both subscriptions are open", everywhere("open"))
	messages := []string{`plant/1 1 {"v":1}`, `plant/2 2 {"v":2}`, `plant/2 4 {"v":3}`}
	b.text(`(async () => {
		await ferry.publish("plant/1", { v: 1 }, { ack: "stored" });
		window.batch = JSON.stringify(await ferry.publishAll("plant/2", [{ v: 2 }, { v: -1 }, { v: 3 }]));
	})(), ""`)
	arrived(messages...)
	b.wait("the batch is published", `window.batch === '{"published":3,"refused":0}'`)
	if c := b.consoleErrors(false); len(c) > 0 {
		t.Errorf("the console says %q", c)
	}
	b.text(`ferry.publish("other", 1).catch((e) => { window.refused = [e.name, e.status, e.code].join(" "); }), ""`)
	b.wait("a message without a grant is refused", `window.refused === "FerryError 403 forbidden"`)

	between.cut()
	b.wait("both subscriptions are lost", everywhere("lost"))
	for v := 5; v < 7; v++ {
		publish(t, "http://"+node+"/v1/tags/plant/3", token, fmt.Sprintf(`{"v":%d}`, v))
		messages = append(messages, fmt.Sprintf(`plant/3 %d {"v":%d}`, v, v))
	}
	between.connect(node)
	b.wait("both subscriptions are open again", everywhere("open"))
	arrived(messages...)

	b.text(`subscriptions.forEach((s) => s.close()), ""`)
	for _, kind := range []string{"event_streams", "websockets"} {
		awaitMetric(t, n.Admin(), fmt.Sprintf("ferry_http_%s{listener=%q} 0\n", kind, node))
	}
	b.wait("a subscription that was closed is not lost", everywhere("open"))
}

// publish publishes a message without the browser.
func publish(t *testing.T, url, token, message string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Fatalf("POST %s: %s", url, response.Status)
	}
}

// awaitMetric waits until the metrics of a node have a line.
func awaitMetric(t *testing.T, admin, line string) {
	t.Helper()
	var text []byte
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(admin + "metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), line) {
			return
		}
	}
	t.Errorf("within 30 s the metrics do not have %q:\n%s", line, text)
}

// relay passes connections on to a server. It closes those that come while it is cut.
type relay struct {
	listener net.Listener

	mu     sync.Mutex
	server string // "" while it is cut
	open   []net.Conn
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.pass(c, &serving)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		r.cut()
		serving.Wait()
	})
	return r
}

func (r *relay) pass(c net.Conn, serving *sync.WaitGroup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.server == "" {
		_ = c.Close()
		return
	}
	up, err := net.Dial("tcp", r.server)
	if err != nil {
		_ = c.Close()
		return
	}
	r.open = append(r.open, c, up)
	for _, way := range [][2]net.Conn{{c, up}, {up, c}} {
		serving.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
			_ = way[1].Close()
		})
	}
}

// connect lets connections pass to a server.
func (r *relay) connect(server string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = server
}

// cut closes all connections.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = ""
	for _, c := range r.open {
		_ = c.Close()
	}
	r.open = nil
}
