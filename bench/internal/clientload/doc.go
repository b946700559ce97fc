// Package clientload has clients that go on while the server in front of them changes: while it reloads, while another process replaces
// it, and while it gets another certificate. Each kind of client does what a user's client of its protocol does after the server has
// closed its connection, and counts what its user sees: failed requests, lost messages, latencies and gaps.
//
//	l := clientload.New(clientload.HTTP{Name: "HTTP/1.1", URL: "http://127.0.0.1:8080/"}.Kind())
//	if err := l.Start(ctx); err != nil {
//		return err
//	}
//	... // change the server
//	report := l.Stop()
package clientload
