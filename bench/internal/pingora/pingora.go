package pingora

import (
	"embed"

	"example.com/ferry/bench/internal/crate"
)

// Version is the version of the crates: that of program/Cargo.toml.
const Version = "0.9.1"

//go:embed program
var source embed.FS

// Program is the proxy. Its arguments are the number of threads, the address of its listener and the address of the server.
var Program = crate.Program{Name: "pingora-" + Version, Binary: "ferry-bench-pingora", Source: source}
