// Package json finds, tests and changes fields of JSON messages (RFC 8259) without decoding them.
//
// A step of a path is a member's name or a list's index. Escapes in a name are decoded before the name is compared.
// Only these methods allocate: Value for a text with escapes, Walk for names, and Validate for names with escapes and
// for objects of more than 64 members. Replace, Insert and Delete plan a change in a format.Edit. White space stays.
//
//	event := []byte(`{"deviceName":"pump-1","readings":[{"value":30}]}`)
//	span, err := json.Format{}.Lookup(event, field.MustParse("readings.0.value"))
//	fmt.Printf("%s\n", event[span.Off:span.End]) // 30
package json
