// Package json finds, tests and changes fields of JSON messages (RFC 8259) without decoding them.
//
// A step of a path is a member's name or a list's index. Names are compared unescaped. Only Value allocates,
// for a text with escapes, Walk, for names, and Validate, for names with escapes and objects of more than 64 members.
// Replace, Insert and Delete plan a change in a format.Edit. They keep white space.
//
//	event := []byte(`{"deviceName":"pump-1","readings":[{"value":30}]}`)
//	span, err := json.Format{}.Lookup(event, field.MustParse("readings.0.value"))
//	fmt.Printf("%s\n", event[span.Off:span.End]) // 30
package json
