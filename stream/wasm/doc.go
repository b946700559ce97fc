// Package wasm runs a message handler as a WebAssembly guest: a function in any language that compiles to it, in the process and
// without access to it.
//
// Start compiles a module and makes a Pool of instances, which is a ferry.Handler. Each call has an instance for itself. A guest
// reads fields of the message by the functions of the host, on the encoded bytes: the message is copied into its memory only if the
// guest wants it. Memory and time are bounded. An instance that traps, or takes longer than Config.Timeout, is ended: its message
// fails and another instance handles the next one, after a pause that doubles while they keep failing. A guest has no files, no
// environment and no sockets, unless Config.Env and Config.Mounts grant the first two.
//
// docs/wasm.md specifies what guests export and import, byte by byte.
//
//	guest, err := os.ReadFile("alerts.wasm")
//	if err != nil {
//		return err
//	}
//	pool, err := wasm.Start(ctx, guest, wasm.Config{Name: "alerts", Formats: all.Formats()})
//	if err != nil {
//		return err
//	}
//	defer pool.Close()
//	return client.Run(ctx, stream.Function{Observe: []string{"sensors/#"}, Handler: pool})
package wasm

// Files: WebAssembly guests as handlers, on wazero: pool.go gives each call an instance, instance.go makes one and calls it,
// host.go is what guests import (docs/wasm.md), watchdog.go ends calls that take too long. internal/meter rewrites a module
// so that this is possible: internal/meter/rewrite.go its sections, internal/meter/function.go its code.
