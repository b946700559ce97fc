package dashboard

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/ferry"
	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
	"example.com/ferry/format/all"
	"example.com/ferry/node/admin"
	"example.com/ferry/protocol/native"
)

// storedNode is an admin server with the streams orders and dead, in memory.
type storedNode struct {
	t      *testing.T
	url    string
	began  time.Time
	engine engine.Engine
	orders engine.Stream
	dead   engine.Stream

	mu    sync.Mutex
	wrong string // why orders does not store
}

func newStoredNode(t *testing.T) *storedNode {
	t.Helper()
	n := &storedNode{t: t, began: time.Now(), engine: memory.New()}
	n.orders, n.dead = n.open("orders", "orders/#"), n.open("dead", "dead/#")
	for i := range 120 {
		payload := fmt.Appendf(nil, `{"id":%d,"origin":1602168089665565201,"lines":[{"sku":"a","n":2}]}`, i+1)
		n.append(n.orders, engine.Record{Tag: fmt.Sprintf("orders/%d", i%3), Type: ferry.JSON, Time: time.Now().UnixNano(), Payload: payload, Extension: native.AppendTLV(nil, native.TLVKey, "customer 7")})
	}
	for _, reason := range []string{"no such customer", "the card was refused"} {
		n.append(n.dead, engine.Record{
			Tag: "dead/orders", Type: ferry.Raw, Time: time.Now().UnixNano(), Payload: []byte{0xca, 0xfe},
			Extension: native.AppendDeadLetter(nil, native.DeadLetter{Stream: "orders", Sequence: 17, Tag: "orders/1", Deliveries: 5, Reason: reason}),
		})
	}
	s, err := admin.New(admin.Config{Address: "127.0.0.1:0", Formats: all.Formats(), Streams: n})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := n.engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	n.url = s.URL()
	return n
}

func (n *storedNode) open(name, filter string) engine.Stream {
	n.t.Helper()
	s, err := n.engine.Open(n.t.Context(), engine.Config{Name: name, Tags: []string{filter}, InMemory: true})
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

func (n *storedNode) append(s engine.Stream, r engine.Record) {
	n.t.Helper()
	stored := make(chan error, 1)
	s.Append([]engine.Record{r}, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		n.t.Fatal(err)
	}
}

// fail makes the stream orders show an error; empty ends it.
func (n *storedNode) fail(why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wrong = why
}

// State shows a durable with two members, whose figures grow with time.
func (n *storedNode) State(ctx context.Context) (admin.StreamsState, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	age := time.Since(n.began)
	state := admin.StreamsState{Now: age.Seconds(), Engine: admin.StreamEngine{Name: "memory", Address: "memory", Sync: "never", MaxReplicas: 1}}
	for _, s := range []engine.Stream{n.dead, n.orders} {
		info, err := s.Info(ctx)
		if err != nil {
			return state, err
		}
		state.Streams = append(state.Streams, admin.StoredState{
			Name: info.Config.Name, Tags: info.Config.Tags, Delivery: "at-least-once", Storage: "memory",
			Records: info.Records, Bytes: info.Bytes, First: info.First, Last: info.Last, Appended: info.Last,
		})
	}
	orders := &state.Streams[1]
	orders.Error, orders.DeadLetter = n.wrong, "dead/orders"
	if n.wrong != "" {
		orders.Pending = 4096
	}
	orders.Durables = []admin.DurableState{
		{
			Name: "billing", Where: `lines.0.n > 1`, Holder: "node-1", Here: true, Floor: 90, Lag: 30, Held: 12, HeldBytes: 900, Waiting: 1,
			Delivered: uint64(age.Milliseconds()), Redelivered: 4, DeadLetters: 2,
			Members: []admin.MemberState{{Client: "billing-a", Held: 8, HeldBytes: 600, Credit: 65536}, {Client: "billing-b", Held: 4, HeldBytes: 300, Credit: 65536}},
		},
		{Name: "search", Lag: 120},
	}
	return state, nil
}

// Stream returns one of the two streams.
func (n *storedNode) Stream(name string) (engine.Stream, bool) {
	s, ok := map[string]engine.Stream{"orders": n.orders, "dead": n.dead}[name]
	return s, ok
}

// Replay removes dead letters.
func (n *storedNode) Replay(ctx context.Context, _ string, sequences []uint64) (int, error) {
	if sequences == nil {
		removed, err := n.dead.Purge(ctx, "", 0)
		return int(removed), err
	}
	for _, s := range sequences {
		if err := n.dead.Remove(ctx, s); err != nil {
			return 0, err
		}
	}
	return len(sequences), nil
}

// ResetDurable finds none.
func (n *storedNode) ResetDurable(context.Context, string, string, engine.Start) error {
	return admin.ErrNoDurable
}

// DeleteDurable finds none.
func (n *storedNode) DeleteDurable(context.Context, string, string) error { return admin.ErrNoDurable }

// TestStreamsPage opens the page of streams in a browser.
func TestStreamsPage(t *testing.T) {
	b := open(t)
	n := newStoredNode(t)

	b.do(chromedp.Navigate(n.url))
	b.wait("the overview links to the streams", `!document.querySelector("nav.pages").hidden`)
	b.do(chromedp.Click("#to-streams"))
	b.wait("the page is connected", isLive)
	const rows = `[...document.querySelectorAll("#streams tbody tr")].map((r) => r.cells[0].textContent).join()`
	b.wait("both streams are listed", rows+` === "dead,orders"`)
	b.wait("the engine says when messages are safe", `document.getElementById("engine").textContent.includes("gone when the process ends")`)
	n.fail("no space left on device")
	const problems = `document.getElementById("problems")`
	b.wait("a stream that waits is seen", problems+`.textContent === "orders does not store: no space left on device. 4 KiB wait." && !`+problems+`.hidden`)
	b.wait("in the list, too", `document.querySelector("#streams .pill.failed")?.textContent === "not storing"`)
	n.fail("")
	b.wait("and goes", problems+`.hidden && !document.querySelector("#streams .pill.failed")`)

	b.do(chromedp.Click(`#streams a[href="#/orders"]`))
	b.wait("the stream is shown", `document.getElementById("name").textContent === "orders" && document.title === "orders · ferry"`)
	b.wait("its figures", `document.querySelector('[data-tile="lag"] output').textContent === "120"`)
	b.wait("its durables, with members", `document.querySelectorAll("#durables .durable").length === 2 && document.querySelector("#durables table").rows.length === 3`)
	b.wait("the predicate", `document.querySelector("#durables .notes").textContent === "where lines.0.n > 1"`)
	b.do(chromedp.ScrollIntoView("#flow"))
	b.awaitMotion("flow")
	browse(b)
	replay(b)

	b.do(chromedp.Navigate(n.url + "streams.html#/none"))
	b.wait("an unknown stream is said to be so", `!document.getElementById("unknown").hidden`)
	b.do(chromedp.Navigate(n.url + "streams.html#/orders"))
	b.wait("the page is back", `!document.getElementById("stream").hidden`)
	b.do(chromedp.ScrollIntoView("#flow"))
	themes(b, "flow")
	for _, hash := range []string{"#/orders", "#/"} {
		b.do(chromedp.EmulateViewport(375, 812))
		b.do(chromedp.Navigate(n.url + "streams.html" + hash))
		b.wait("the page is shown on a phone", isLive)
		if wide := b.text(`String(document.documentElement.scrollWidth)`); wide != "375" {
			t.Errorf("on a phone the page %s is %s wide, want 375", hash, wide)
		}
	}
	for _, c := range b.consoleErrors(false) {
		if !strings.Contains(c, "400 (Bad Request)") { // of the wrong filter
			t.Errorf("the console says %q", c)
		}
	}
}

const (
	numbers = `[...document.querySelectorAll("#records .number")].map((e) => e.textContent)`
	shownAs = `document.getElementById("range").textContent`
)

// browse turns the pages of the messages of orders, and looks into one.
func browse(b *browser) {
	b.t.Helper()
	b.wait("the newest messages are shown", numbers+`[0] === "120" && `+numbers+`.length === 50`)
	b.do(chromedp.Click(`[data-go="older"]`))
	b.wait("older ones", shownAs+` === "Messages 21 to 70, 50 newer"`)
	b.do(chromedp.Click(`[data-go="newer"]`))
	b.wait("newer ones", shownAs+` === "Messages 71 to 120"`)
	b.do(chromedp.Click(`[data-go="oldest"]`))
	b.wait("the oldest ones", shownAs+` === "Messages 1 to 50, 70 newer"`)
	fill(b, "from", "100")
	b.do(chromedp.Click(`#browse [type="submit"]`))
	b.wait("from a number", shownAs+` === "Messages 100 to 120"`)
	fill(b, "from", "")
	fill(b, "tag", "orders/1")
	b.do(chromedp.Click(`#browse [type="submit"]`))
	b.wait("of one tag", `[...document.querySelectorAll("#records .tag")].every((e) => e.textContent === "orders/1") && `+numbers+`.length === 40`)
	fill(b, "tag", "orders/#/x")
	b.do(chromedp.Click(`#browse [type="submit"]`))
	b.wait("a wrong filter is said to be so", shownAs+`.startsWith("filter: ")`)
	fill(b, "tag", "")
	b.do(chromedp.Click(`[data-go="newest"]`))
	b.wait("all again", numbers+`[0] === "120"`)
	enter(b, "#records summary")
	b.wait("Enter shows the payload, with all digits", `document.querySelector("#records pre")?.textContent.includes('"origin": 1602168089665565201,\n')`)
	b.wait("and the key", `document.querySelector("#records .facts").textContent.includes("key customer 7")`)
}

// fill sets the value of an input.
func fill(b *browser, id, value string) {
	b.t.Helper()
	b.text(fmt.Sprintf("document.getElementById(%q).value = %q", id, value))
}

// enter focuses an element and presses Enter.
func enter(b *browser, selector string) {
	b.t.Helper()
	b.do(chromedp.Focus(selector), chromedp.SendKeys(selector, "\r"))
}

// replay looks at the dead letters and replays them.
func replay(b *browser) {
	b.t.Helper()
	enter(b, `#properties a[href="#/dead"]`)
	b.wait("the stream of dead letters", `document.getElementById("name").textContent === "dead" && `+numbers+`.join() === "2,1"`)
	enter(b, "#records summary")
	b.wait("the reason is shown", `document.querySelector("#records .reason").textContent.startsWith("the card was refused after 5 deliveries of orders 17, tag orders/1")`)
	b.wait("the payload as hex", `document.querySelector("#records pre").textContent === "cafe"`)
	enter(b, `button[aria-label="Replay 2"]`)
	b.wait("one is replayed", shownAs+` === "Replayed 1 dead letter." && `+numbers+`.join() === "1"`)
	enter(b, "#records summary")
	enter(b, `.reason a[href="#/orders/17"]`)
	b.wait("the link leads to the message", `document.getElementById("name").textContent === "orders" && document.querySelector("#records details[open] .number")?.textContent === "17"`)
	b.text(`history.back(), ""`)
	b.wait("back to the dead letters", `document.getElementById("name").textContent === "dead" && `+numbers+`.join() === "1"`)
	enter(b, "#replay-all")
	b.wait("all need a second click", `document.getElementById("replay-all").textContent.includes("again")`)
	enter(b, "#replay-all")
	b.wait("all are replayed", `!document.querySelector("#records li") && document.getElementById("replay-all").hidden`)
}
