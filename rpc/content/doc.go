// Package content lists the content types of calls: pairs of an envelope, or none, and a codec. It links all codecs; a program that
// uses few of them lists its own contents.
//
//	json, ok := content.ByType("application/json")
package content
