package formattest_test

import (
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/y3"
)

// misplanned is a correct format, except that its plans have one fault.
type misplanned struct {
	y3.Format
	fault string
}

func (m misplanned) Replace(e *format.Edit, data []byte, p field.Path, v field.Value) error {
	err := m.Format.Replace(e, data, p, v)
	switch {
	case err != nil && m.fault == "an error leaves something planned":
		e.Put(0, 1, nil)
	case err == nil && m.fault == "replace adds a byte":
		e.Put(len(data), len(data), []byte{0})
	case err == nil && m.fault == "replace changes the message":
		e.InPlace()
		data[len(data)-1] ^= 1
	}
	return err
}

func (m misplanned) Insert(e *format.Edit, data []byte, p field.Path, v field.Value) error {
	if m.fault == "insert takes a key that is there" {
		if _, err := m.Lookup(data, p); err == nil {
			return nil
		}
	}
	if m.fault == "insert takes nothing" && p.Len() == 1 {
		return &format.TypeError{Format: "y3"}
	}
	return m.Format.Insert(e, data, p, v)
}

func (m misplanned) Delete(e *format.Edit, data []byte, p field.Path) error {
	if m.fault == "delete takes another value" && p.String() == "0x01" {
		p = field.MustParse("0x03")
	}
	if m.fault == "delete of nothing is no error" {
		if _, err := m.Lookup(data, p); err != nil {
			return nil
		}
	}
	return m.Format.Delete(e, data, p)
}

func TestCheckFindsFaultsOfEdits(t *testing.T) {
	t.Parallel()
	tests := []struct{ fault, want string }{
		{"an error leaves something planned", "and the Edit makes"},
		{"replace adds a byte", "where Patch gives"},
		{"replace changes the message", "changed the message"},
		{"insert takes a key that is there", "want format.ErrExists"},
		{"insert takes nothing", "Insert takes no value"},
		{"delete takes another value", "Delete"},
		{"delete of nothing is no error", "want field.ErrNotFound"},
	}
	for _, test := range tests {
		t.Run(test.fault, func(t *testing.T) {
			data := []byte{0x81, 0x05, 0x02, 0x01, 0x7f, 0x04, 0x00, 0x03, 0x01, 0x43}
			failures := check(t, misplanned{fault: test.fault}, data)
			if all := strings.Join(failures, "\n"); !strings.Contains(all, test.want) {
				t.Errorf("got failures %q, want one with %q", failures, test.want)
			}
		})
	}
}
