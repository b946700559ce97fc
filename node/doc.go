// Package node is the daemon that `ferry run` starts, built from one configuration: listeners, the broker between them, the
// machine's sensors, functions, the proxy and the admin server. A part that the configuration does not name is not started: a
// node with a proxy and without listeners has no streams.
//
// Read build.go first: it makes every part, in the order in which a message meets them.
//
//	formats := all.Formats()
//	n, err := node.Build(config.Default(), node.Extensions{Formats: formats, Functions: node.Functions(formats)})
//	if err != nil {
//		return err
//	}
//	err = n.Run(ctx) // until ctx ends, then drains
package node

// Files: build.go is the one file in which all names meet; functionhandler.go runs light, heavy and worker functions,
// guest.go wasm functions, functionpipeline.go pipelines, deployments.go functions that ferry deploy brings (deploy/ keeps
// them on the disk); section.go is the list of what a reload changes, in two phases, restart.go refuses what needs a
// restart, plan.go says before what a reload would do, and reload.go watches the file; vitals.go looks at time and
// descriptors of the process, loglimit.go bounds the log; engine.go starts the engine of stored streams, streams.go joins
// what engine and broker know of them, replay.go publishes dead letters again; edges.go has the listeners of other
// protocols, mqtt.go those of MQTT, callgate.go those of ordinary clients of gRPC and JSON; serve.go offers services of
// ordinary servers; config/ YAML and its schema (source.go reads the files with the YAML library: routes.go large route
// tables, expand.go and substitute.go put values in, include.go merges, resolved.go prints what counts, effect.go has what a
// reload does with each field), admin/ metrics, dashboard and what ferry admin asks for (endpoints.go, clients.go,
// loglevel.go, sampling.go), backup/ the archive of ferry backup, live/ the machine's sensors and three functions.
