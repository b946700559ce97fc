package dashboard

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/ferry/broker"
	"example.com/ferry/link"
	"example.com/ferry/link/forward"
	"example.com/ferry/link/spool"
	"example.com/ferry/node/admin"
)

// TestLinks shows a link that is connected, one that is down, and one whose messages are on the disk.
func TestLinks(t *testing.T) {
	links := []forward.Stats{
		{Stats: link.Stats{Name: "hub", Connected: true, Since: time.Now(), Confirmed: 1200, Dropped: map[string]uint64{"too_long": 3}}, Node: "hub-1f00"},
		{Stats: link.Stats{
			Name: "backup", Since: time.Now(), Err: errors.New("connection refused"), Spooling: true, Spool: spool.Stats{Messages: 7, Bytes: 3 << 20, MaxBytes: 1 << 30},
		}},
	}
	s, err := admin.New(admin.Config{
		Address: "127.0.0.1:0", Snapshot: func() broker.Snapshot { return broker.Snapshot{} },
		Links: func() []forward.Stats { return links },
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	t.Cleanup(func() {
		if err := errors.Join(s.Shutdown(context.Background()), <-ended); err != nil {
			t.Error(err)
		}
	})
	b := open(t)
	b.do(chromedp.Navigate(s.URL()))
	b.wait("both links are shown", `document.querySelectorAll("#links tbody tr").length === 2`)
	for _, c := range []struct{ cell, want string }{
		{"tr:nth-child(1) td:nth-child(3)", "connected"},
		{"tr:nth-child(1) td:nth-child(4)", "1,200"},
		{"tr:nth-child(1) td:nth-child(8)", "3"},
		{"tr:nth-child(2) td:nth-child(3)", "down"},
		{"tr:nth-child(2) td:nth-child(7)", "3 MiB of 1 GiB"},
	} {
		if got := b.text(`document.querySelector("#links tbody ` + c.cell + `").textContent`); got != c.want {
			t.Errorf("%s: got %q, want %q", c.cell, got, c.want)
		}
	}
	if got := b.text(`document.querySelector("#link-problems").textContent`); got != "backup: connection refused" {
		t.Errorf("the problem is %q", got)
	}
}
