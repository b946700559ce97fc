package change

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"
	"testing"
	"time"

	"example.com/ferry/bench/internal/clientload"
)

// httpKinds are the clients of HTTP at a proxy's addresses.
func httpKinds(at map[string]string, trust *tls.Config) []clientload.Kind {
	http1, http2, https := "http://"+at["http1"], "http://"+at["http2"], "https://"+at["https"]
	return []clientload.Kind{
		clientload.HTTP{Name: "HTTP/1.1", URL: http1}.Kind(),
		clientload.HTTP{Name: "HTTP/1.1, new connections", URL: http1, Fresh: true}.Kind(),
		clientload.HTTP{Name: "HTTP/2", URL: http2, HTTP2: true}.Kind(),
		clientload.HTTP{Name: "HTTP/1.1, TLS", URL: https, TLS: trust}.Kind(),
		clientload.HTTP{Name: "HTTP/2, TLS", URL: https, TLS: trust, HTTP2: true}.Kind(),
		clientload.HTTP{Name: "TLS, new connections", URL: https, TLS: trust, Fresh: true}.Kind(),
	}
}

// running are loads that have started.
type running struct {
	t     *testing.T
	loads []*clientload.Load
	once  sync.Once
}

// begin starts a load of each kind, and waits until all of them go. pause is the time between a response and the client's next request.
func begin(t *testing.T, kinds []clientload.Kind, pause time.Duration) *running {
	t.Helper()
	r := &running{t: t}
	t.Cleanup(func() { r.stop() })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, k := range kinds {
		k.Pause = pause
		l := clientload.New(k)
		r.loads = append(r.loads, l)
		if err := l.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	r.goOn()
	return r
}

// goOn waits until each load has had some more responses.
func (r *running) goOn() {
	r.t.Helper()
	const more = 3
	for _, l := range r.loads {
		before := l.Completed()
		await(r.t, l.Name()+" goes on", func() error {
			if n := l.Completed(); n < before+more {
				failed, first := l.Failed()
				return fmt.Errorf("%d responses; %d failed: %s", n-before, failed, first)
			}
			return nil
		})
	}
}

// leave calls Leave of each load. The returned function ends that.
func (r *running) leave() (back func()) {
	var all []func()
	for _, l := range r.loads {
		all = append(all, l.Leave())
	}
	return func() {
		for _, back := range all {
			back()
		}
	}
}

// stop ends the loads at the same time, once.
func (r *running) stop() []clientload.Report {
	reports := make([]clientload.Report, len(r.loads))
	r.once.Do(func() {
		var all sync.WaitGroup
		for i, l := range r.loads {
			all.Go(func() { reports[i] = l.Stop() })
		}
		all.Wait()
	})
	return reports
}
