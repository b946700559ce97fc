package pipeline

import "example.com/ferry/edgex"

// SetID sets each event's ID to the text that next returns. It overwrites an ID of the same length, such as a UUID, in place;
// otherwise it copies the message.
func SetID(next func() string) Step {
	return change(func(v *edgex.View) error { return v.SetID(next()) })
}

// SetCorrelationID sets each envelope's correlation ID, as SetID sets the event's. An event without an envelope is an error.
func SetCorrelationID(next func() string) Step {
	return change(func(v *edgex.View) error { return v.SetCorrelationID(next()) })
}

// AddTags adds tags to each event; a tag replaces one of the same name. It copies the message and does not decode the event. In
// base64 it encodes the bytes behind the tags again; these are few, as tags are an event's last field.
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

// Transform converts each message to another form, as edgex.View's Convert does: between CBOR and JSON, with or without the
// envelope. It does not copy a message that has the form already. It translates the whole of any other message, without
// decoding it into Go values.
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
