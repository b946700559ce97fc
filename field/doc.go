// Package field defines paths to the fields of encoded messages, and predicates over the values of these fields.
//
// A Path ("readings.0.value") is parsed once and used for any number of messages. A Set holds several paths. A format
// finds all paths of a Set in one pass. A Predicate (`deviceName == "pump-1" && readings.0.value > 30`) compares fields
// with constants. An Index evaluates many predicates together. The package knows no wire format: the packages under
// format/ find the fields and return Spans.
package field
