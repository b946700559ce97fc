package bson

import "example.com/ferry/field"

// span returns the span of the value. data must contain the whole value.
func (at valuePlace) span(data []byte) (field.Span, error) {
	typ := at.typ(data)
	end, err := skipValue(data, typ, at.value, at.limit)
	if err != nil {
		return field.Span{}, err
	}
	s := field.Span{Head: at.head, Off: at.value, End: end, Kind: kindByType[typ]}
	switch s.Kind {
	case field.Text:
		s.Off += 4
		s.End--
	case field.Map, field.List:
		s.Off += 4
	case field.Bytes:
		if s.Off += 5; data[at.value+4] == subtypeOldBinary {
			if end-s.Off < 4 {
				return field.Span{}, syntaxError(s.Off, "binary of subtype 2 without its second length")
			}
			s.Off += 4
		}
	}
	return s, nil
}

// endOf returns the offset after the value with span s.
func endOf(s field.Span) int {
	if s.Kind == field.Text {
		return s.End + 1
	}
	return s.End
}
