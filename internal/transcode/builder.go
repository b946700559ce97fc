package transcode

import (
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// builderWriter writes a format that this package does not know. It calls the format.Builder of that format.
type builderWriter struct {
	builder format.Builder
	lists   []bool // for each open container, whether it is a List
	notes   *Notes
}

func (w *builderWriter) open(at location, kind field.Kind) error {
	step := w.step(at)
	w.lists = append(w.lists, kind == field.List)
	return w.builder.Begin(step, kind)
}

func (w *builderWriter) close() error {
	w.lists = w.lists[:len(w.lists)-1]
	return w.builder.End()
}

func (w *builderWriter) scalar(at location, v value) error {
	if v.number != "" {
		var err error
		if v, err = v.to64Bit(w.notes); err != nil {
			return err
		}
	}
	return w.builder.Scalar(w.step(at), v.Value)
}

// step returns the step for a value. The name is that of the schema, or else that of the source.
func (w *builderWriter) step(at location) field.Step {
	if len(w.lists) == 0 || w.lists[len(w.lists)-1] {
		return at.Step
	}
	return field.Step{Name: at.name(w.notes), Index: -1, Key: -1}
}

func (w *builderWriter) message() ([]byte, error) { return w.builder.Message() }
