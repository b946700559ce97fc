// Package dashboard tests the dashboard of a node, and the client for browsers, in a headless Chromium. It lives in this module so that the
// library that drives the browser is no dependency of ferry.
//
//	go test ./dashboard
package dashboard
