// Package proxytrial measures one HTTP proxy under one load: a backend, one or two proxies, and a client. A Trial is a
// harness.Session, so proxies of a case take turns in short slices. Linux only.
//
//	t, err := proxytrial.Start(proxytrial.Load{Down: keepalive.HTTP2, Up: keepalive.HTTP1, Conns: 5, Streams: 100, Size: 1024,
//		Proxy: []int{0}, Ends: []int{1}}, proxytrial.Program(p), dir, files)
//	err = t.Run(200 * time.Millisecond)
//	figures, err := t.Figures()
package proxytrial
