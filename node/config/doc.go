// Package config is a node's configuration: one struct, its YAML, its JSON Schema, and errors that point at the line.
//
// Load reads a file on top of the defaults, so a file names only what differs. Each error has
// file:line:column, the field, the line and what to write instead; an unknown field is an error. Default is the configuration
// of `ferry run` without a file.
//
//	cfg, err := config.Load("node.yaml", config.Program{Formats: all.Formats()})
//	if err != nil {
//		fmt.Fprintln(os.Stderr, err)
//		os.Exit(2)
//	}
package config
