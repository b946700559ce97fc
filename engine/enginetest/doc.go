// Package enginetest tests an engine against the contract of package engine.
//
// All engines pass the same table. What an engine lacks by its Capabilities, it must refuse with an *engine.UnsupportedError.
//
//	enginetest.Run(t, func(t *testing.T) enginetest.Fixture { return enginetest.Fixture{Engine: memory.New()} })
package enginetest
