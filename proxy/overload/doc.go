// Package overload sheds load before the process runs out of memory, or its loops out of time.
//
// A Manager samples the memory of the process, the delays of the event loops and the number of connections, and decides about
// a Level. Listeners and requests read its State, which is one atomic load.
//
//	m := overload.New(&overload.Config{}, process, actions, log)
//	go m.Run(ctx)
//	if m.State().RefusesRequest() { ... } // respond with 503
package overload

// Files: sheds load before memory or time runs out: controller.go decides about the level, lag.go measures the loops,
// manager.go samples and acts; proxy/shed.go is what it does to a proxy.
