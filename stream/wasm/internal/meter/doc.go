// Package meter rewrites a WebAssembly module so that its host can end any of its calls, and so that no call keeps the Go runtime
// waiting.
//
// Compiled guest code is not preemptible: a loop without a host call would block the garbage collector of the whole process, and
// nothing could end it. Rewrite inserts a counter into each loop and each function. After about 256 Ki loop iterations (some
// 100 us) the guest leaves its code for a moment, which is a point of preemption, and then traps if the host has set the global
// that the module exports as Stop. The counter of a loop is a local variable, which stays in a register.
//
//	metered, err := meter.Rewrite(binary, meter.Limits{MemoryPages: 256, TableEntries: 65536})
//	...
//	module.ExportedGlobal(meter.Stop).(api.MutableGlobal).Set(1) // from any goroutine: ends the call
package meter
