// Package top is the live view of a node in a terminal, which ferry top shows. It reads the admin server once in an interval.
//
//	err := top.Run(ctx, top.Config{Get: get, Address: "http://127.0.0.1:4195"})
package top
