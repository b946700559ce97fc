// Package pipeline is the steps of an EdgeX app service on encoded events: filter, tag, give another identity, convert,
// batch, compress.
//
// A message runs through the steps in order, in whatever form it came. A filter reads one name, an identity is overwritten
// where it stands, tags are put in, readings are cut out: nothing is decoded, and what passes unchanged is not copied.
// Where a step has to rewrite the message, it says so.
//
//	keep, err := pipeline.FilterByDeviceName(pipeline.Filter{Values: []string{"^pump-"}})
//	p := pipeline.New(nil, keep, pipeline.AddTags(edgex.Tag{Name: "site", Value: "dock"}))
//	out, ok, err := p.Run(data)
package pipeline
