// Package field has paths to the fields of encoded messages, and predicates over their values.
//
// A Path ("readings.0.value") is parsed once and used for any number of messages. A Set holds several paths that a format
// finds in one pass. A Predicate (`deviceName == "pump-1" && readings.0.value > 30`) tests the fields that it names. The
// package knows no wire format: the packages under format/ find the fields and return Spans.
package field
