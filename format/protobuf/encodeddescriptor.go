package protobuf

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
)

// encodedDescriptor is one encoded message of a descriptor set.
type encodedDescriptor struct {
	data []byte
	span field.Span
}

// eachMessage calls visit for each record of d that has this field number. Each of these records must be a message.
func (d encodedDescriptor) eachMessage(number int, visit func(encodedDescriptor) error) error {
	for pos := d.span.Off; pos < d.span.End; {
		r, err := findRecord(d.data, pos, d.span.End, number)
		if errors.Is(err, field.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.wire() != wireLength {
			return syntaxError(r.head, fmt.Sprintf("field %d has wire type %d and is no message", number, r.wire()))
		}
		if err := visit(encodedDescriptor{d.data, r.span()}); err != nil {
			return err
		}
		pos = r.end
	}
	return nil
}

// scopedName returns the name of d, which is the text field with this number, behind scope.
func (d encodedDescriptor) scopedName(number int, scope string) (string, error) {
	name, err := d.text(number)
	if scope != "" {
		name = scope + "." + name
	}
	return name, err
}

// text returns the text field with this number, or "" if d has none.
func (d encodedDescriptor) text(number int) (string, error) {
	v, _, err := d.value(number, field.String)
	return string(v.Bytes), err
}

// integer returns the integer field with this number, or 0 if d has none.
func (d encodedDescriptor) integer(number int) (int64, error) {
	v, _, err := d.value(number, field.Int32)
	return v.Int, err
}

// value returns the field with this number, and whether d has it.
func (d encodedDescriptor) value(number int, as field.Type) (field.Value, bool, error) {
	r, err := findRecord(d.data, d.span.Off, d.span.End, number)
	if errors.Is(err, field.ErrNotFound) {
		return field.Value{}, false, nil
	}
	if err != nil {
		return field.Value{}, false, err
	}
	v, err := Format{}.Value(d.data, r.span(), as)
	return v, true, err
}

// expanded reports whether lists of numbers in d, or in the field d, are not packed. inherited holds if d does not say.
// options and features are the numbers of the fields that hold the features.
func (d encodedDescriptor) expanded(options, features int, inherited bool) (bool, error) {
	err := d.eachMessage(options, func(o encodedDescriptor) error {
		return o.eachMessage(features, func(f encodedDescriptor) error {
			n, err := f.integer(featureRepeated)
			if n != 0 {
				inherited = n != featureRepeatedPacked
			}
			return err
		})
	})
	return inherited, err
}

// oneof returns the name of the oneof that the field d is a member of, or "".
func (d encodedDescriptor) oneof(names []string) (string, error) {
	v, found, err := d.value(fieldOneof, field.Int32)
	if err != nil || !found {
		return "", err
	}
	if v.Int < 0 || v.Int >= int64(len(names)) {
		return "", fmt.Errorf("its oneof %d is none of the %d of the message", v.Int, len(names))
	}
	return names[v.Int], nil
}

// fieldExpanded reports whether the list d of numbers is not packed. expanded holds if d does not say.
func (d encodedDescriptor) fieldExpanded(expanded bool) (bool, error) {
	expanded, err := d.expanded(fieldOptions, fieldFeatures, expanded)
	if err != nil {
		return false, err
	}
	err = d.eachMessage(fieldOptions, func(o encodedDescriptor) error {
		v, found, err := o.value(optionPacked, field.Boolean)
		if found {
			expanded = !v.Bool
		}
		return err
	})
	return expanded, err
}
