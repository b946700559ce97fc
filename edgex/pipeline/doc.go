// Package pipeline implements the steps of an EdgeX app service on encoded events: filter, add tags, set IDs, convert, batch,
// compress.
//
// A message passes the steps in order, in the form in which it arrived. A filter reads one name. SetID overwrites the ID in
// place. AddTags inserts tags, and FilterByResourceName removes readings. None of these steps decodes the event. An unchanged
// message is not copied. The comment of each step says whether the step copies or translates the message.
//
//	keep, err := pipeline.FilterByDeviceName(pipeline.Filter{Values: []string{"^pump-"}})
//	p := pipeline.New(nil, keep, pipeline.AddTags(edgex.Tag{Name: "site", Value: "dock"}))
//	out, ok, err := p.Run(data)
package pipeline
