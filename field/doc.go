// Package field names a place inside an encoded message, and tests what stands there.
//
// A Path ("readings.0.value") is parsed once and used on any number of messages; a Set holds several paths that a format
// finds in one pass; a Predicate (`deviceName == "pump-1" && readings.0.value > 30`) is a test over the fields it names.
// The package knows no wire format: packages under format/ do the finding, and hand back a Span.
package field
