// Package crate builds peers written in Rust, with cargo, into the user's cache directory.
//
// A peer is a small program over a crate. Its source is embedded in the benchmark. A benchmark calls Install when it starts, and omits
// the peer's row if that fails. Tests use the peer only if it is installed.
//
//	//go:embed program
//	var program embed.FS
//
//	peer := crate.Program{Name: "a-tree-0.5.0", Binary: "ferry-bench-atree", Source: program}
//	if err := peer.Install(); err != nil {
//		fmt.Fprintln(os.Stderr, err)
//	}
//	if path := peer.Path(); path != "" {
//		exec.Command(path, "1000")
//	}
package crate
