// Package wasm has three guests for a node, without a library: in Go, in Rust and in AssemblyScript. Each publishes messages whose
// field "value" is above 30 on high/TAG. docs/wasm.md describes what they import and export; `ferry new function` makes guests with a
// library and a test.
package wasm
