package pipeline

import "example.com/ferry/edgex"

// SetID sets each event's ID to the text that next returns. An ID of the same length, such as a UUID, is overwritten in place.
// Otherwise SetID copies the message.
func SetID(next func() string) Step {
	return change(func(v *edgex.View) error { return v.SetID(next()) })
}

// SetCorrelationID sets each envelope's correlation ID to the text that next returns. It copies as SetID does. An event
// without an envelope is an error.
func SetCorrelationID(next func() string) Step {
	return change(func(v *edgex.View) error { return v.SetCorrelationID(next()) })
}

// AddTags adds tags to each event. A tag replaces an existing tag with the same name. AddTags copies the message and does not
// decode the event. In base64 it encodes the bytes after the tags again. These bytes are few, because tags are the last field
// of an event.
func AddTags(tags ...edgex.Tag) Step {
	return change(func(v *edgex.View) error { return v.SetTags(tags...) })
}

func change(plan func(v *edgex.View) error) Step {
	return StepFunc(func(m *Message) (bool, error) {
		v, err := m.Event()
		if err == nil {
			err = plan(v)
		}
		return err == nil, err
	})
}

// Transform converts each message to another form, like Convert of edgex.View: between CBOR and JSON, with or without the
// envelope. A message that already has the form is not copied. Every other message is translated as a whole, without decoding
// it into Go values.
func Transform(to edgex.Form) Step {
	return StepFunc(func(m *Message) (bool, error) {
		v, err := m.Event()
		if err != nil || v.Form() == to {
			return err == nil, err
		}
		out, err := m.rewrite(func(dst []byte) ([]byte, error) { return v.Convert(dst, to) })
		if err == nil {
			m.SetEvent(out)
		}
		return err == nil, err
	})
}
