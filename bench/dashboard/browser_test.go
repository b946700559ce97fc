package dashboard

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"example.com/ferry/internal/needs"
	"example.com/ferry/node/config"
)

// browser is a headless Chromium with one page, and the errors of its console.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	errors []string
}

func open(t *testing.T) *browser {
	t.Helper()
	program := needs.Program(t, "chromium")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	messages := chromedp.Console(ctx)
	b.do(chromedp.EmulateViewport(1280, 900))
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == "error" {
				b.mu.Lock()
				b.errors = append(b.errors, m.String())
				b.mu.Unlock()
			}
		}
	}()
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// authorize sends the token of a data directory from now on, which a user is asked for at the first action.
func (b *browser) authorize(dir string) {
	b.t.Helper()
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{}); err != nil {
		b.t.Fatal(err)
	}
	header := network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": "Bearer " + strings.TrimSpace(string(token))}}
	if _, err := chromedp.Call(b.ctx, network.SetExtraHTTPHeaders, header); err != nil {
		b.t.Fatal(err)
	}
}

// wait waits until a JavaScript expression is true. Errors of the expression are ignored, because it fails while the page loads.
func (b *browser) wait(what, expression string) {
	b.t.Helper()
	var last error
	for b.ctx.Err() == nil {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if ok {
			return
		}
		if b.ctx.Err() == nil {
			last = err
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatalf("timeout: waited until %s: %v", what, last)
}

func (b *browser) text(expression string) string {
	b.t.Helper()
	s, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// awaitMotion waits until a plot has changed twice.
func (b *browser) awaitMotion(id string) {
	b.t.Helper()
	pixels := `document.querySelector("#` + id + ` canvas").toDataURL()`
	for range 2 {
		before := b.text(pixels)
		b.wait("the plot of "+id+" moves", pixels+` !== "`+before+`"`)
	}
}

// consoleErrors returns the errors of the console. offline leaves out those of requests that failed because the node was stopped.
func (b *browser) consoleErrors(offline bool) (left []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.errors {
		refused := strings.Contains(c, "ERR_") || strings.Contains(c, "503 (Service Unavailable)") // gone, or draining
		if !offline || !refused {
			left = append(left, c)
		}
	}
	return left
}

const (
	isLive    = `document.getElementById("state").textContent === "live"`
	average   = `[...document.querySelectorAll("#cpu .legend li")].find((li) => li.children[1].textContent === "avg")`
	isStopped = average + `?.children[2].textContent === "stopped"`
	isDrawn   = average + `?.children[2].textContent.endsWith("%")`
)

// TestDashboard opens a node's dashboard in a browser.
func TestDashboard(t *testing.T) {
	b := open(t)
	cfg := quiet(t)
	cfg.Live.Sensors, cfg.Live.Functions, cfg.Live.Interval = true, true, 100*time.Millisecond
	cfg.Functions = []config.Function{{Name: "sums", Run: "checksum", Observe: []string{"checksum/#"}, CPU: config.Heavy}}
	n := build(t, cfg)
	cfg.Admin.Address = strings.TrimSuffix(strings.TrimPrefix(n.Admin(), "http://"), "/")
	stop := run(t, n)

	b.do(chromedp.Navigate(n.Admin()))
	b.wait("the page is connected", isLive)
	b.wait("the average is drawn", isDrawn)
	b.wait("nothing is shown of a proxy", `document.getElementById("proxy").hidden`)
	for _, id := range []string{"cpu", "memory"} {
		b.awaitMotion(id)
	}
	b.do(chromedp.ScrollIntoView("#latency"))
	for _, id := range []string{"messages", "bytes", "latency", "queues", "tokens"} {
		b.wait(id+" has a legend", `document.querySelector("#`+id+` .legend b")`)
	}
	b.wait("there are figures", `[...document.querySelectorAll("#tiles output")].every((o) => /[0-9]/.test(o.textContent))`)

	b.wait("a function shows where it runs", `[...document.querySelectorAll(".function .class")].some((e) => e.textContent === "heavy")`)

	b.authorize(cfg.DataDir)
	b.do(chromedp.Click(`button[aria-label="Stop averages"]`))
	b.do(chromedp.ScrollIntoView("#cpu"))
	b.wait("the average of a stopped function stops", isStopped)
	b.awaitMotion("cpu") // the sensors still publish
	b.do(chromedp.Click(`button[aria-label="Start averages"]`))
	b.do(chromedp.ScrollIntoView("#cpu"))
	b.wait("the average goes on", isDrawn)

	themes(b, "cpu")
	b.do(chromedp.EmulateViewport(375, 812))
	if wide := b.text(`String(document.documentElement.scrollWidth)`); wide != "375" {
		t.Errorf("on a phone the page is %s wide, want 375", wide)
	}
	b.do(chromedp.EmulateViewport(1280, 900))
	if c := b.consoleErrors(false); len(c) > 0 {
		t.Errorf("the console says %q", c)
	}

	if err := stop(); err != nil {
		t.Fatal(err)
	}
	b.wait("the page says that the node is gone", `document.getElementById("state").textContent === "reconnecting" && !document.getElementById("banner").hidden`)
	run(t, build(t, cfg))
	b.wait("the page reconnects", isLive)
	b.wait("and says so", `document.getElementById("banner").textContent.startsWith("Connected again")`)
	b.do(chromedp.ScrollIntoView("#cpu"))
	b.wait("the average goes on after the restart", isDrawn)
	b.awaitMotion("cpu")
	if c := b.consoleErrors(true); len(c) > 0 {
		t.Errorf("the console says %q", c)
	}
}

// TestRefusedAction stops a function, and the node refuses that: the page keeps the reason until the next click.
func TestRefusedAction(t *testing.T) {
	b := open(t)
	cfg := quiet(t)
	cfg.Functions = []config.Function{{Name: "sums", Run: "checksum", Observe: []string{"checksum/#"}}}
	n := build(t, cfg)
	run(t, n)
	b.do(chromedp.Navigate(n.Admin()))
	const button, reason = `button[aria-label="Stop sums"]`, `document.querySelector(".function .error")`
	b.wait("the function runs", `document.querySelector('`+button+`')`)
	b.text(`((get) => {
		window.refuse = true;
		window.fetch = async (...args) => {
			if (window.refuse && args[0].endsWith("/stop")) return new Response("no token", { status: 401 });
			const response = await get(...args);
			if (args[0] === "/api/functions") window.shown++;
			return response;
		};
		return "";
	})(window.fetch)`)
	b.do(chromedp.Click(button))
	b.wait("the page says why it did not stop", `!`+reason+`.hidden && `+reason+`.textContent === "no token"`)
	b.text(`(() => { window.shown = 0; return ""; })()`)
	b.wait("the functions were shown again", `window.shown > 1`)
	if got := b.text(reason + `.hidden ? "" : ` + reason + `.textContent`); got != "no token" {
		t.Errorf("the page says %q, want why the function did not stop", got)
	}
	b.authorize(cfg.DataDir)
	b.text(`(() => { window.refuse = false; return ""; })()`)
	b.do(chromedp.Click(button))
	b.wait("the function stops, and the reason goes", `document.querySelector('button[aria-label="Start sums"]') && `+reason+`.hidden`)
}

// themes checks that the page and a plot of it follow the system's theme, and that the button overrides it.
func themes(b *browser, plot string) {
	b.t.Helper()
	const theme = `document.documentElement.dataset.theme`
	const ground = `getComputedStyle(document.body).backgroundColor`
	grounds := map[string]string{}
	for _, want := range []string{"dark", "light"} {
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: want}},
		})
		if err != nil {
			b.t.Fatal(err)
		}
		b.wait("the theme is "+want, theme+` === "`+want+`"`)
		grounds[want] = b.text(ground)
		b.awaitMotion(plot)
	}
	if grounds["dark"] == grounds["light"] {
		b.t.Errorf("both themes have the ground %s", grounds["dark"])
	}
	b.do(chromedp.Click("#theme"))
	b.wait("the button makes it dark", theme+` === "dark"`)
	if got := b.text(ground); got != grounds["dark"] {
		b.t.Errorf("dark by the button is %s, by the system %s", got, grounds["dark"])
	}
}
