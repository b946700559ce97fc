// Package dashboard tests the dashboard of a node in a headless Chromium. It lives in this module so that the library that
// drives the browser is no dependency of ferry.
//
//	go test ./dashboard
package dashboard
