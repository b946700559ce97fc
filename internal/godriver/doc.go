// Package godriver runs Go's client under the cases of protocol/native/conformance: it carries out the kit's instructions with a
// stream.Client, and calls of package rpc over it. docs/conformance.md specifies the instructions.
package godriver
