// Package config is a node's configuration: one struct, its YAML, its JSON Schema, and errors that point at the line.
//
// Load reads a file on top of the defaults, so a file names only what differs. What it refuses it refuses with
// file:line:column, the field, the offending line and what to write instead; unknown fields are refused too. Default is
// the node that `ferry run` starts without a file.
//
//	cfg, err := config.Load("node.yaml", config.Program{Formats: all.Formats()})
//	if err != nil {
//		fmt.Fprintln(os.Stderr, err)
//		os.Exit(2)
//	}
package config
