// Package web has the client of ferry's HTTP listeners for browsers, Node and Deno: ferry.js, an ES module. docs/http.md describes it.
//
// Every http listener serves it at /v1/ferry.js.
package web

import _ "embed" // for the module

// Module is ferry.js.
//
//go:embed ferry.js
var Module []byte
