package nats

import (
	"fmt"

	"example.com/ferry/engine"
	"example.com/ferry/internal/topic"
)

// refusal says why a record can never be stored, or returns "".
func (a *appender) refusal(r *engine.Record, subject string, c *engine.Config) string {
	if err := topic.CheckTag(r.Tag); err != nil {
		return err.Error()
	}
	if !covers(c.Tags, r.Tag) {
		return fmt.Sprintf("tag %q is not among the tags of the stream (%q)", r.Tag, c.Tags)
	}
	head := len("NATS/1.0\r\n") + 250 + 3*len(r.ID) + (len(r.Extension)*4+2)/3 // at least what headers.size returns
	if head > maxHeaders {
		return fmt.Sprintf("its ID and extension have %d bytes, too many for the headers of a NATS message", len(r.ID)+len(r.Extension))
	}
	size := int64(head + len(r.Payload))
	if most := a.s.e.payload.Load(); size > most {
		return fmt.Sprintf("it has %d bytes with its headers, the server takes %d", size, most)
	}
	if c.MaxBytes > 0 && size+int64(len(subject)) > c.MaxBytes {
		return fmt.Sprintf("it has %d bytes with its headers, the stream holds %d", size, c.MaxBytes)
	}
	return ""
}

func covers(filters []string, tag string) bool {
	for _, f := range filters {
		if topic.Match(f, tag) {
			return true
		}
	}
	return false
}
