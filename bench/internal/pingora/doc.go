// Package pingora builds a proxy over Pingora, Cloudflare's framework for proxies, which is a peer of ferry's HTTP proxy.
//
// Pingora is a library, so the program in the folder program is the least that forwards all requests to one server. A benchmark calls
// Program.Install when it starts, which takes some minutes once, and omits the row if that fails. Tests use the program only if it is
// installed.
//
//	exec.Command(pingora.Program.Path(), "2", "127.0.0.1:18080", "127.0.0.1:18090") // threads, listener, server
package pingora
